{
  "targets": [
    {
      "target_name": "mend",
      "sources": ["mend.c"],
      "cflags": ["-O2", "-Wall", "-Wextra", "-Werror", "-std=gnu11"],
      # A notification thread may outlive the JavaScript thread that loaded the addon: its code must stay mapped.
      "ldflags": ["-Wl,-z,nodelete"]
    }
  ]
}
