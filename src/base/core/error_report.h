// Reports the Error that ended a process to its parent: a line of JSON, written to the descriptor
// whose number is in HONE_ERROR_FD. The last of several lines counts.
//   {"error": "cannot read https://...", "code": "H0107", "where": [], "todo": "check the network",
//    "kind": "transient"}
#pragma once

#include <optional>
#include <string_view>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

inline constexpr const char* kErrorVariable = "HONE_ERROR_FD";

// Call when a program starts: the programs that it starts itself do not get the descriptor.
void take_error_descriptor();
// Writes the error there; does nothing if HONE_ERROR_FD was not set.
void report_error(const Error& error);

// {"error", "code", "where", "todo"}
OrderedJson error_json(const Error& error);
std::string report_line(const Error& error);
// The error in the last of such lines; none if there is no such line.
std::optional<Error> reported_error(std::string_view lines);

}  // namespace hone
