// If an Error ends a process, the process reports it to its parent: it writes a line of JSON to the file descriptor
// whose number is in the environment variable HONE_ERROR_FD. The parent uses the last line.
//   {"error": "cannot read https://...", "code": "H0107", "where": [], "todo": "check the network",
//    "kind": "transient"}
#pragma once

#include <optional>
#include <string_view>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

inline constexpr const char* kErrorVariable = "HONE_ERROR_FD";

// Reads and removes HONE_ERROR_FD, so that programs which this one starts do not inherit the descriptor. Call it once
// when the program starts.
void take_error_descriptor();
// Writes the error to the descriptor that take_error_descriptor() has found. Does nothing if HONE_ERROR_FD was not set.
void report_error(const Error& error);

// An object with the members "error", "code", "where" and "todo" of the line at the top of this file, without "kind".
OrderedJson error_json(const Error& error);
// The line at the top of this file for this error, with its line break. "kind" is left out if the kind is
// ErrorCode::lasting.
std::string report_line(const Error& error);
// The error in the last line that has the form of report_line(); other lines are ignored. nullopt: there is no such
// line.
std::optional<Error> reported_error(std::string_view lines);

}  // namespace hone
