# The compiler, the standard and the warnings. One place, so that no folder differs.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "Lathe builds with clang 19 or newer, but the compiler is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}.\n"
    "g++ 12 miscompiles temporaries inside co_await expressions (double free).\n"
    "hint: run scripts/bootstrap.sh, then: cmake --preset release")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)  # -fPIE below; CMake's own switch would mean the dearer -fPIC for our libraries
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")

add_compile_definitions(LATHE_VERSION="${LATHE_VERSION}")
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
add_link_options(-fuse-ld=lld-19 -static-libstdc++ -static-libgcc)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # The program parses what anybody sends: addresses nobody can guess, tables that are read-only before main(), and checks of
  # stack and buffers. What the relocations cost at every exec: bench exec-cost.
  add_compile_options(-fPIE -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
                      -ffunction-sections -fdata-sections)
  add_link_options(-pie -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack)
endif()

set(LATHE_SANITIZE "" CACHE STRING "sanitizers, e.g. address,undefined or thread")
if(LATHE_SANITIZE)
  # Optimised a little: the simulation of 100,000 runs takes a quarter of the time, and reports still name their lines.
  add_compile_options(-O1 -fsanitize=${LATHE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LATHE_SANITIZE})
endif()

# libFuzzer sees only code that reports its branches: every folder, not only the target itself.
if(LATHE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

find_program(LATHE_CCACHE ccache)
if(LATHE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${LATHE_CCACHE})
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
