# The layout of a Debian package: binary, systemd unit, completions, man page. The texts come from the command table of
# the binary that was built, so they cannot be of another version.
include(GNUInstallDirs)

set(generated ${PROJECT_BINARY_DIR}/generated)
add_custom_command(
  OUTPUT ${generated}/lathe.bash ${generated}/_lathe ${generated}/lathe.1
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND $<TARGET_FILE:lathe> completion bash > ${generated}/lathe.bash
  COMMAND $<TARGET_FILE:lathe> completion zsh > ${generated}/_lathe
  COMMAND $<TARGET_FILE:lathe> man > ${generated}/lathe.1
  DEPENDS lathe
  VERBATIM)
add_custom_target(lathe_texts ALL DEPENDS ${generated}/lathe.bash ${generated}/_lathe ${generated}/lathe.1)
configure_file(packaging/lathe.service ${generated}/lathe.service @ONLY)

install(TARGETS lathe RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${generated}/lathe.service DESTINATION lib/systemd/system)
install(FILES ${generated}/lathe.bash RENAME lathe DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/_lathe DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${generated}/lathe.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
