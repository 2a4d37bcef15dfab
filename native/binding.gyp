{
  "targets": [
    {
      "target_name": "mend",
      "sources": ["mend.c"],
      "cflags": ["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
    }
  ]
}
