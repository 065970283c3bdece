# SPDX-License-Identifier: MIT
#
# cmake -DFOLDER=<folder> -DNAME=<name> -DMADE=<path> -P weir_embed_script.cmake: writes <path>.cpp
# for weir_embed_assets, from the files that <path>.list names.

set(source "${MADE}.cpp.new")
file(WRITE "${source}" "// SPDX-License-Identifier: MIT
// Made by weir_embed_assets.
#include \"${NAME}.hpp\"

#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace {

using namespace std::string_view_literals;

constexpr weir::http::asset all[] = {
")
file(STRINGS "${MADE}.list" paths)
if(NOT paths)
    message(FATAL_ERROR "weir_embed_assets: there are no files in ${FOLDER}")
endif()
foreach(path IN LISTS paths)
    file(READ "${FOLDER}/${path}" content HEX)
    file(SHA256 "${FOLDER}/${path}" hash)
    string(SUBSTRING "${hash}" 0 32 hash)
    # Every byte as \xNN, in lines that an editor can show.
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" content "${content}")
    string(REGEX REPLACE "(................................................................................)"
        "\\1\"\n     \"" content "${content}")
    file(APPEND "${source}" "    {\"${path}\"sv, {},\n     \"${content}\"sv,\n     \"\\\"${hash}\\\"\"sv},\n")
endforeach()
file(APPEND "${source}" "};

}  // namespace

std::span<const weir::http::asset> ${NAME}() {
    return all;
}
")
file(RENAME "${source}" "${MADE}.cpp")
