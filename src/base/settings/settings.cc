// The schema itself: description, lookup, storing one value with its checks.
#include "base/settings/settings.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/meant.h"

namespace hone {

namespace {

// The declared value (of text: one of its parts between bars), any "false" for a bool, or a value
// that is unset or empty.
bool is_off(const OrderedJson& off, bool is_bool, const Json& value, const std::string& shown) {
  if (value.is_null() || shown.empty() || shown == "None") return true;
  if (value.is_structured() && value.empty()) return true;
  if (is_bool) return bool_of(shown) == off.get<bool>();
  const std::vector<std::string> allowed = split(value_text(off), '|');
  const auto known = [&](const std::string& word) {
    return std::find(allowed.begin(), allowed.end(), word) != allowed.end();
  };
  if (!value.is_array()) return known(shown);
  return std::all_of(value.begin(), value.end(),
                     [&](const Json& v) { return v.is_string() && known(v.get<std::string>()); });
}

}  // namespace

Schema::Schema(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}
Schema::Schema(Schema&&) noexcept = default;
Schema& Schema::operator=(Schema&&) noexcept = default;
Schema::~Schema() = default;

void Schema::add_spelling(const std::string& name, Spelling spelling) {
  HONE_BUG_IF(!spelling_.emplace(name, spelling).second, "setting '{}' is declared twice in '{}'",
              name, command_);
}

void Schema::add(const std::string& name, Field field, const std::string& group,
                 const std::string& help) {
  // A command may offer what others refuse or ignore: its setting takes the place of theirs.
  if (foreign_.erase(name) > 0) spelling_.erase(name);
  add_spelling(name, {.setting = settings_.size()});
  Setting s;
  s.name = name;
  s.group = group;
  s.help = help;
  s.field = field;
  s.default_value = s.defined_value = value_of(field);
  settings_.push_back(std::move(s));
}

void Schema::decides(const std::string& name, std::string_view words, const Field& defined) {
  Setting& s = find(name);
  s.defined_value = value_of(defined);
  if (words.empty()) return;
  s.decides.clear();
  for (const std::string& word : split(words, ','))
    if (const std::string_view one = trim(word); one != "nothing") s.decides.emplace_back(one);
}

void Schema::add_foreign(const std::string& name, bool refused, const Field& off,
                         const std::string& why) {
  add_spelling(name, {.foreign = true});
  Foreign foreign{.refused = refused,
                  .is_bool = is_bool(off),
                  .is_list = is_list(off),
                  .off = refused ? value_of(off) : OrderedJson(),
                  .why = why};
  foreign_.emplace(name, std::move(foreign));
}

Setting& Schema::find(const std::string& name) {
  auto it = spelling_.find(name);
  HONE_BUG_IF(it == spelling_.end() || it->second.foreign, "'{}' has no setting '{}'", command_,
              name);
  return settings_[it->second.setting];
}
const Setting& Schema::at(const std::string& name) const {
  return const_cast<Schema*>(this)->find(name);
}

OrderedJson Setting::value() const { return value_of(field); }
bool Setting::changed() const { return value() != default_value; }

std::vector<std::string> Setting::words() const {
  std::vector<std::string> some;
  for (const std::string& c : choices)
    if (!c.empty()) some.push_back(c);
  return some;
}

void Schema::choices(const std::string& name, std::vector<std::string> allowed) {
  find(name).choices = std::move(allowed);
}
void Schema::bounds(const std::string& name, double least, double most) {
  find(name).least = least;
  find(name).most = most;
}
void Schema::alias(const std::string& name, const std::string& other, bool deprecated) {
  Setting& s = find(name);
  if (!deprecated) s.aliases.push_back(other);
  add_spelling(other,
               {.setting = static_cast<size_t>(&s - settings_.data()), .deprecated = deprecated});
}
void Schema::required(const std::string& name) { find(name).required = true; }
void Schema::secret(const std::string& name) { find(name).secret = true; }
void Schema::common(const std::string& name, bool is) { find(name).common = is; }
void Schema::positional(const std::string& name) {
  find(name);
  positional_.push_back(name);
}

void Schema::preset(const std::string& name, const std::string& value) {
  Setting& s = find(name);
  HONE_BUG_IF(!assign(s.field, value), "preset {}={} of '{}'", name, value, command_);
  s.origin = {SettingSource::kCommand, command_};
}

std::vector<std::string> Schema::spellings() const {
  std::vector<std::string> names;
  for (const auto& [name, spelling] : spelling_) names.push_back(name);
  return names;
}

Error Schema::unknown(const std::string& name, const std::string& shown,
                      const std::string& place) const {
  std::string near = meant_by(name, spellings());
  if (near.empty()) near = nearest_name(name, spellings());
  if (near.empty() && name.size() >= 4) {
    for (const std::string& s : spellings()) {
      if (s.starts_with(name) && (near.empty() || s.size() < near.size())) near = s;
    }
  }
  Error e(err::kUnknownSetting, fmt::format("{} has no setting '{}'", command_, shown));
  e.at(place);
  e.todo((near.empty() ? "" : fmt::format("did you mean --{}? ", near)) +
         fmt::format("'{} --help{}' lists all", command_, has_common(*this) ? " all" : ""));
  return e;
}

Error Schema::all_of(std::vector<Error> errors) const {
  if (errors.size() == 1) return std::move(errors.front());
  Error all(errors.front().error_code(),
            fmt::format("{} things are wrong with the settings of {}", errors.size(), command_));
  for (const Error& e : errors) {
    std::string line = fmt::format(
        "{}: {} ({})", e.where().empty() ? "settings" : e.where().front(), e.what(), e.code());
    if (!e.remedy().empty()) line += "; " + e.remedy();
    all.at(std::move(line));
  }
  return std::move(all.todo("correct each of them, then run the command again"));
}

Status Schema::check(const Setting& s, const Json& given, const std::string& place) const {
  OrderedJson value = s.value();
  if (!s.choices.empty() && !value.is_null()) {
    std::vector<std::string> words;
    if (value.is_array())
      words = value.get<std::vector<std::string>>();
    else
      words = {value_text(value)};
    for (const std::string& w : words) {
      if (std::find(s.choices.begin(), s.choices.end(), w) != s.choices.end()) continue;
      std::string near = nearest_name(w, s.choices);
      const bool is_verb =
          !positional_.empty() && positional_.front() == s.name && s.name == "verb";
      return Error(err::kSettingChoice,
                   fmt::format("{}: '{}' is not one of {}", s.name, w, join(s.words(), ", ")))
          .at(place)
          .todo(!near.empty() ? fmt::format("did you mean '{}'?", near)
                : is_verb     ? fmt::format("write {} {} ...; '{} --help' describes the verbs",
                                            command_, s.words().front(), command_)
                              : "write one of these words");
    }
  }
  double number = 0;
  if (const auto* size = std::get_if<ByteSize*>(&s.field))
    number = static_cast<double>((*size)->bytes);
  else if (value.is_number())
    number = value.get<double>();
  else
    return Ok{};
  if (number >= s.least && number <= s.most) return Ok{};
  std::string range = std::isinf(s.most)    ? fmt::format("at least {}", s.least)
                      : std::isinf(s.least) ? fmt::format("at most {}", s.most)
                                            : fmt::format("from {} to {}", s.least, s.most);
  return Error(err::kSettingBounds, fmt::format("{}: {} is out of bounds: it must be {}", s.name,
                                                value_text(value), range))
      .at(place);
}

Status Schema::apply(const std::string& name, const Json& value, const Origin& origin,
                     std::vector<std::string>& notices) {
  const Spelling& spelling = spelling_.at(name);
  std::string shown = value.is_string() ? value.get<std::string>() : dump_json(value);
  if (spelling.foreign) {
    const Foreign& f = foreign_.at(name);
    if (!f.refused) {
      notices.push_back(fmt::format("{} has no effect: {}", name, f.why));
      return Ok{};
    }
    if (is_off(f.off, f.is_bool, value, shown)) return Ok{};
    return Error(err::kSettingRefused,
                 fmt::format("{}: not supported by this version of hone (given: {})", name, shown))
        .at(origin.place)
        .todo(f.why);
  }
  Setting& s = settings_[spelling.setting];
  if (spelling.deprecated) {
    notices.push_back(fmt::format("{} is an old spelling of {}", name, s.name));
  }
  if (!assign(s.field, value)) {
    return Error(err::kSettingType, fmt::format("{}: expected {}, got '{}'", s.name,
                                                expected(s.field), s.secret ? "(secret)" : shown))
        .at(origin.place);
  }
  HONE_TRY(check(s, value, origin.place));
  s.origin = origin;
  return Ok{};
}

Status Schema::imply(const std::string& name, const Json& value, const std::string& place,
                     std::vector<std::string>& notices) {
  const bool told = find_typed(name) != nullptr && given(name);
  const Origin by_user = told ? origin(name) : Origin{};
  const OrderedJson before = told ? at(name).value() : OrderedJson();
  HONE_TRY(apply(name, value, {SettingSource::kFile, place}, notices));
  if (!told) return Ok{};
  Setting& s = find(name);
  s.origin = by_user;
  const OrderedJson after = s.value();
  if (after == before) return Ok{};
  assign(s.field, *parse_json(dump_json(before), "value"));
  return Error(err::kSettingConflict, fmt::format("{} has two values: {} and {}", name,
                                                  value_text(before), value_text(after)))
      .at(fmt::format("{} ({})", by_user.place, value_text(before)))
      .at(fmt::format("{} ({})", place, value_text(after)))
      .todo("give one value, or the same value twice");
}

Status Schema::imply_default(const std::string& name, const Json& value, const std::string& place,
                             std::vector<std::string>& notices) {
  if (find_typed(name) != nullptr && given(name)) return Ok{};
  return apply(name, value, {SettingSource::kFile, place}, notices);
}

bool has_setting(const Schema& schema, std::string_view name) {
  const auto& all = schema.all();
  return std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
}

bool has_common(const Schema& schema) {
  const auto& all = schema.all();
  return std::any_of(all.begin(), all.end(), [](const Setting& s) { return s.common; });
}

}  // namespace hone
