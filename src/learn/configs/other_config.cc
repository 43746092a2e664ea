#include "learn/configs/other_config.h"

#include "base/core/text.h"
#include "base/settings/yaml.h"
#include "learn/configs/block.h"

namespace hone {
namespace {

// Scalars as YAML's: texts as they are written.
Json as_texts(const Json& value) {
  if (value.is_structured()) {
    Json all = value;
    for (Json& one : all) one = as_texts(one);
    return all;
  }
  return value.is_null() || value.is_string() ? value : Json(dump_json(value));
}

}  // namespace

std::optional<OtherFile> read_other_config(std::string_view text, const std::string& name) {
  JsonPlaces places;
  const bool json = to_lower(name).ends_with(".json");
  const Result<Json> read =
      json ? parse_json(text, name, &places) : parse_yaml(text, name, &places);
  if (!read.ok() || !read->is_object()) return std::nullopt;  // the settings' own reader says why
  const Json file = as_texts(*read);
  for (const OtherConfig& other : all_other_config()) {
    if (!other.is_mine(file)) continue;
    OtherFile out;
    ConfigReading reading{other.program, name, std::move(places), out};
    other.read({reading, file});
    if (!reading.without_effect.empty())
      out.notices.push_back(fmt::format("{}: keys of {} without effect here: {}", name,
                                        other.program, join(reading.without_effect, ", ")));
    return out;
  }
  return std::nullopt;
}

}  // namespace hone
