// The types of settings, and the conversion between their values and text or JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/core/json.h"

namespace hone {

// A size in bytes. Texts: "4096", "16GiB" or "16G" (powers of 1024), "500MB" (powers of 1000), "1.5TiB".
struct ByteSize {
  int64_t bytes = 0;
  bool operator==(const ByteSize&) const = default;
};

// A setting that is either a JSON object or the path of a file with a JSON object.
struct JsonOrFile {
  // An object, or a string with the path; "": not set.
  Json value = "";
  bool empty() const { return value == Json(""); }
  bool operator==(const JsonOrFile&) const = default;
};

// A pointer to the value of a setting. These are the types of a settings.def.
using Field =
    std::variant<bool*, int64_t*, double*, std::string*, ByteSize*, std::vector<std::string>*,
                 Json*, std::optional<bool>*, std::optional<int64_t>*, std::optional<double>*,
                 std::optional<std::string>*, std::optional<ByteSize>*, JsonOrFile*>;

bool is_bool(const Field& field);  // bool or optional bool; their flag without a value means true
bool is_list(const Field& field);  // a list of texts
bool is_text(const Field& field);  // text, a list of texts, or JsonOrFile
const char* expected(const Field& field);      // for errors: "a number such as 0.1 or 5e-5"
const char* metavariable(const Field& field);  // for --help: "NUMBER"; "" for a bool

// Converts `value` to the field's type and stores it. Returns false if that is not possible; the field is then
// unchanged. A string is read in the form of a flag:
//   bool      true, false, yes, no, on, off, 1, 0
//   integer   8, 1_000, 1e3, -1
//   number    5e-5, inf
//   size      16GiB
//   list      a,b        (or a JSON array)
//   JSON      JSON text
//   optional  None or null unset the field
bool assign(const Field& field, const Json& value);

// The value for a settings file. A ByteSize that is a multiple of 1 KiB is text such as "16GiB"; other sizes are a
// number of bytes. An unset optional is null.
OrderedJson value_of(const Field& field);
// The value in one line for people: "5e-05", "40" (for 40 and 40.0), "true", "a,b", "none" (for null).
std::string value_text(const OrderedJson& value);

// Reads true, yes, y, t, on or 1, and false, no, n, f, off or 0, in upper or lower case. nullopt for other texts.
std::optional<bool> bool_of(std::string_view text);

}  // namespace hone
