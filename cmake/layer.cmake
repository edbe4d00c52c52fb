# lathe_layer(NAME DEPENDS a b LIBRARIES x y [HEAVY f.cc ...] [SKIP g.cc ...])
# One library per folder of src/, made of its *.cc; *_test.cc become one test program. HEAVY files include Asio or
# Beast themselves and are kept out of the folder's precompiled header.
function(lathe_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LIBRARIES;HEAVY" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  list(TRANSFORM arg_DEPENDS PREPEND lathe_ OUTPUT_VARIABLE depends)
  if(sources)
    add_library(lathe_${name} STATIC ${sources})
    set(scope PUBLIC)
    lathe_precompile(lathe_${name})
    foreach(heavy IN LISTS arg_HEAVY)
      set_source_files_properties(${heavy} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endforeach()
  else()
    add_library(lathe_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(lathe_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(lathe_${name} ${scope} ${depends} ${arg_LIBRARIES})

  if(LATHE_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE lathe_${name} lathe_test_support)
    lathe_precompile_test(${name}_test)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# One precompiled header of std and fmt for the whole tree, built once and shared.
function(lathe_precompile target)
  if(target STREQUAL "lathe_base")
    target_precompile_headers(lathe_base PRIVATE ${PROJECT_SOURCE_DIR}/src/base/prelude.h)
  else()
    target_precompile_headers(${target} REUSE_FROM lathe_base)
  endif()
endfunction()

# Tests have one of their own, with GoogleTest, and are not optimised: what they test is, and a test runs once for each
# time it is compiled. Both halve the time of a test's compilation.
function(lathe_precompile_test target)
  target_compile_options(${target} PRIVATE -O0)
  target_precompile_headers(${target} REUSE_FROM lathe_test_prelude)
endfunction()
