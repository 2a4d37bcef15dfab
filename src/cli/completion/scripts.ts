/** Shells that a completion script can be printed for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof SHELLS)[number];

/** Sourced, each has its shell ask `mend __complete` for what may be written at the cursor. */
export const SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of mend for bash. In ~/.bashrc: source <(mend completion bash)
_mend() {
  local -a lines
  mapfile -t lines < <(mend __complete bash -- "$COMP_WORDBREAKS" "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  COMPREPLY=("\${lines[@]:1}")
  case \${lines[0]-} in
    folders) compopt -o filenames -o dirnames ;;
    files) compopt -o filenames -o default ;;
  esac
}
complete -F _mend mend
`,
  zsh: `#compdef mend
# Completion of mend for zsh. In ~/.zshrc, after compinit: source <(mend completion zsh)
# or, once: mend completion zsh > a folder of $fpath, as _mend
_mend() {
  local line
  local -a lines texts notes
  lines=("\${(@f)$(mend __complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}")
  for line in "\${(@)lines[2,-1]}"; do
    texts+=("\${line%%$'\\t'*}")
    notes+=("\${line/$'\\t'/  -- }")
  done
  (( $#texts )) && compadd -l -d notes -a -- texts
  case $lines[1] in
    folders|files)
      [[ $PREFIX == --*=* ]] && compset -P '*='
      if [[ $lines[1] == folders ]]; then _files -/; else _files; fi
      ;;
  esac
}
if [[ $funcstack[1] == _mend ]]; then
  _mend "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _mend mend
fi
`,
  fish: `# Completion of mend for fish: mend completion fish > ~/.config/fish/completions/mend.fish
function __mend_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l lines (mend __complete fish -- $words[2..-1] $current 2>/dev/null)
  set -l start (string match -r -- '^--[^=]*=' $current)
  set -l rest (string replace -r -- '^--[^=]*=' '' $current)
  switch "$lines[1]"
    case folders
      for path in (__fish_complete_directories "$rest")
        echo "$start$path"
      end
    case files
      for path in (__fish_complete_path "$rest")
        echo "$start$path"
      end
  end
  printf '%s\\n' $lines[2..-1]
end
complete -c mend -e
complete -c mend -f -a '(__mend_complete)'
`,
};
