# Writes what HONE says of its flags below SHARE: completion of bash, zsh and fish, and manual pages.
#   cmake -DHONE=build/hone -DSHARE=/usr/local/share -P cmake/write_help.cmake
foreach(PAIR bash|bash-completion/completions/hone zsh|zsh/site-functions/_hone fish|fish/vendor_completions.d/hone.fish)
  string(REPLACE "|" ";" PAIR "${PAIR}")
  list(GET PAIR 0 SHELL)
  list(GET PAIR 1 FILE)
  cmake_path(GET FILE PARENT_PATH FOLDER)
  file(MAKE_DIRECTORY ${SHARE}/${FOLDER})
  execute_process(COMMAND ${HONE} help --completion ${SHELL} OUTPUT_FILE ${SHARE}/${FILE}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
execute_process(COMMAND ${HONE} help --man ${SHARE}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
