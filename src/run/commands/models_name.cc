#include "run/commands/models_name.h"

#include <charconv>

#include "base/core/text.h"
#include "base/settings/errors.h"

namespace hone {
namespace {

// "news" or "news:3", given at `place`.
Result<NamedVersion> read_named(const std::string& text, const std::string& place) {
  if (text.find_first_of(":@") == text.npos) return NamedVersion{text};
  const size_t colon = text.rfind(':');
  int64_t number = 0;
  if (colon != text.npos && text.find_first_of(":@") == colon) {
    const char* end = text.data() + text.size();
    const auto [stopped, failed] = std::from_chars(text.data() + colon + 1, end, number);
    if (failed == std::errc() && stopped == end && number > 0 && colon > 0)
      return NamedVersion{text.substr(0, colon), number};
  }
  return Error(err::kSettingType, fmt::format("'{}' is not the name of a model or a version", text))
      .at(place)
      .todo("write NAME or NAME:3; hone models list shows the names");
}

Error two_values(const char* what, const std::string& one, const std::string& at,
                 const std::string& other, const std::string& at_other) {
  return Error(err::kSettingConflict, fmt::format("{} has two values: {} and {}", what, one, other))
      .at(at)
      .at(at_other)
      .todo("give one value, or the same value twice");
}

}  // namespace

Result<NamedVersion> named_version(const std::string& reference, const std::string& name,
                                   int64_t version) {
  const std::string flag = "--name " + name, number = fmt::format("--version {}", version);
  const NamedVersion first = HONE_TRY(read_named(reference, reference)),
                     second = HONE_TRY(read_named(name, flag));
  NamedVersion found{HONE_TRY(named_model(first.name, second.name))};
  std::string place;  // of the version that was found
  for (const auto& [given, at] :
       {std::pair{first.version, reference}, {second.version, flag}, {version, number}}) {
    if (given == 0) continue;
    if (found.version != 0 && found.version != given)
      return two_values("version", std::to_string(found.version), place, std::to_string(given), at);
    found.version = given;
    place = at;
  }
  return found;
}

Result<std::string> named_model(const std::string& reference, const std::string& name) {
  if (!reference.empty() && !name.empty() && reference != name)
    return two_values("name", reference, reference, name, "--name " + name);
  return reference.empty() ? name : reference;
}

}  // namespace hone
