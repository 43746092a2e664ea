// The text form of a program. print(parse(t)) == t for canonical text, and parse(print(p)) is p
// after Program::compact(). SPEC.md has the grammar.
#pragma once

#include "engine/graph/graph.h"

namespace hone {

std::string print(const Program& p);
Result<Program> parse_program(std::string_view text, const OpTable& ops,
                              const std::string& file = "program");

}  // namespace hone
