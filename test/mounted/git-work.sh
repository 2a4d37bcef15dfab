#!/bin/sh
# Works with Git in one folder and prints what came of it. Dates and names are fixed, so that every run prints the same,
# whatever file system the folder is on.
# Usage: git-work.sh FOLDER SOURCE ELSEWHERE: an empty folder, the repository to clone, and an empty folder beside.
set -eu
folder=$1 source=$2 elsewhere=$3

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_TERMINAL_PROMPT=0 LC_ALL=C
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'

say() { printf '== %s\n' "$*"; }
state() {
  say "$1"
  git rev-parse HEAD 'HEAD^{tree}'
  git status --porcelain
}
whole() { git fsck --full --strict --no-progress; }

cd "$folder"
git clone -q "$source" .
git config gc.autoDetach false
echo '*.tmp/' >>.git/info/exclude
state cloned
whole

echo 'one more line' >>note-1.md
mkdir new
echo fresh >new/fresh.md
git add -A
git commit -q -m 'A change and a new file'
state committed

git checkout -q -b old HEAD~20
state 'the work tree of twenty commits ago'
git checkout -q main
state 'and of now'

git checkout -q -b topic HEAD~5
echo topic >topic.md
git add topic.md
git commit -q -m 'A topic'
git rebase -q main
state rebased
git log --format=%H%s -n 8

git checkout -q -b left main
sed -i '1s/.*/left/' note-2.md
git commit -q -a -m Left
git checkout -q -b right main
sed -i '1s/.*/right/' note-2.md
git commit -q -a -m Right
say 'a merge that conflicts'
git merge -q left >/dev/null 2>&1 || git status --porcelain
cat note-2.md
git merge --abort
git merge -q -s ours -m 'Both' left
state merged

echo stashed >>note-3.md
echo untracked >loose.md
git stash push -q -u
state stashed
git stash pop -q
state 'taken back'
git diff
git clean -q -f -d
git checkout -q -- .
state 'thrown away'

git mv note-4.md new/moved.md
git rm -q -r sub
git commit -q -m 'Moved and removed'
git reset -q --hard HEAD~1
state 'put back'

for place in "$elsewhere/tree" side.tmp; do
  git worktree add -q "$place" topic
  (
    cd "$place"
    echo "from a work tree" >>topic.md
    git commit -q -a -m 'From a work tree'
    state 'a second work tree'
  )
  git worktree remove "$place"
done
git worktree prune

number=0
while [ $number -lt 25 ]; do
  number=$((number + 1))
  echo "$number" >counter.md
  git add counter.md
  git commit -q -m "Number $number"
done
state 'twenty-five commits'
whole

git init -q --bare -b main "$elsewhere/bare"
git push -q "$elsewhere/bare" --all
git fetch -q "$elsewhere/bare" topic
git bundle create -q "$elsewhere/bundle" --all
git bundle verify -q "$elsewhere/bundle" 2>&1 | sed "s:.*/::"

git repack -q -a -d
say repacked
git count-objects -v | grep -v '^size'
git gc -q --prune=now
say 'garbage collected'
git count-objects -v | grep -v '^size'
git pack-refs --all
for pack in .git/objects/pack/*.idx; do git verify-pack "$pack"; done
whole
state 'in the end'
git for-each-ref
git ls-files -s

git clone -q --no-local . "$elsewhere/copy"
git -C "$elsewhere/copy" rev-parse HEAD 'HEAD^{tree}'
