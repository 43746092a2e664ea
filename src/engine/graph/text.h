// The text form of a program; SPEC.md has the grammar. For text in the form that print() writes,
// print(parse_program(t)) == t. parse_program(print(p)) is p after Program::compact().
#pragma once

#include "engine/graph/graph.h"

namespace hone {

std::string print(const Program& p);
// Parses a program without the checks of verify.h; call verify() for them. `file` names the source in errors,
// as file:line:column. Errors: H1002 wrong text, H1001 an unknown element type, H1003 operands or attributes of a
// copy, of a wait, or of a node on a lane other than compute, do not fit its op.
Result<Program> parse_program(std::string_view text, const OpTable& ops,
                              const std::string& file = "program");

}  // namespace hone
