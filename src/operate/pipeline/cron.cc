#include "operate/pipeline/cron.h"

#include <charconv>
#include <ctime>
#include <optional>

#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/places/transfer.h"
#include "operate/pipeline/artifacts.h"
#include "operate/pipeline/errors.h"

namespace hone {
namespace {

struct CronField {
  const char* name;
  int least, most;
  const char* words;  // three letters each, from `least`
};
constexpr CronField kFields[] = {{"minute", 0, 59, ""},
                                 {"hour", 0, 23, ""},
                                 {"day of the month", 1, 31, ""},
                                 {"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                 {"day of the week", 0, 7, "sunmontuewedthufrisat"}};
constexpr int64_t kMostHashedBytes = 256 << 20;

std::optional<int> number_in(const std::string& text, const CronField& field) {
  const std::string_view words = field.words;
  if (text.size() == 3)
    for (size_t at = 0; at + 3 <= words.size(); at += 3)
      if (to_lower(text) == words.substr(at, 3)) return field.least + static_cast<int>(at / 3);
  int value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) return {};
  return value >= field.least && value <= field.most ? std::optional(value) : std::nullopt;
}

// One part of a list: "*", "5", "1-5", each with "/step". False: it is something else.
bool add_part(const std::string& part, const CronField& field, std::bitset<60>& out) {
  const size_t slash = part.find('/');
  const std::string range = part.substr(0, slash);
  int step = 1;
  if (slash != std::string::npos) {
    const CronField steps{"", 1, 59, ""};
    const auto given = number_in(part.substr(slash + 1), steps);
    if (!given) return false;
    step = *given;
  }
  int begin = field.least, end = field.most;
  if (range != "*") {
    const size_t dash = range.find('-');
    const auto first = number_in(range.substr(0, dash), field);
    if (!first) return false;
    begin = *first;
    end = slash == std::string::npos ? begin : field.most;
    if (dash != std::string::npos) {
      const auto last = number_in(range.substr(dash + 1), field);
      if (!last || *last < begin) return false;
      end = *last;
    }
  }
  for (int value = begin; value <= end; value += step)
    out.set(static_cast<size_t>(field.most == 7 ? value % 7 : value));
  return true;
}

}  // namespace

Result<CronTimes> CronTimes::parse(const std::string& given) {
  std::string text(trim(given));
  for (const auto& [name, meaning] : {std::pair("@hourly", "0 * * * *"),
                                      {"@daily", "0 0 * * *"},
                                      {"@midnight", "0 0 * * *"},
                                      {"@weekly", "0 0 * * 0"},
                                      {"@monthly", "0 0 1 * *"},
                                      {"@yearly", "0 0 1 1 *"}})
    if (text == name) text = meaning;
  std::vector<std::string> words;
  for (const std::string& word : split(text, ' '))
    if (!trim(word).empty()) words.emplace_back(trim(word));
  if (words.size() != 5)
    return Error(err::kCron, fmt::format("'{}' has {} fields, not 5", given, words.size()))
        .at("--cron")
        .todo(
            "write minute, hour, day of the month, month, day of the week: '0 3 * * *' is 3:00 "
            "every day");
  CronTimes times;
  for (size_t i = 0; i < 5; ++i)
    for (const std::string& part : split(words[i], ','))
      if (!add_part(part, kFields[i], times.fields_[i]))
        return Error(err::kCron,
                     fmt::format("'{}' is not {} {}", part, i == 1 ? "an" : "a", kFields[i].name))
            .at("--cron '" + given + "'")
            .todo(fmt::format("write numbers from {} to {}, ranges (1-5), lists (1,5), steps (*/5)",
                              kFields[i].least, kFields[i].most));
  times.any_day_ = words[2][0] == '*';
  times.any_weekday_ = words[4][0] == '*';
  return times;
}

double CronTimes::next(double after) const {
  auto time = static_cast<std::time_t>(after) / 60 * 60 + 60;
  std::tm local{};
  for (int days = 0; days < 8 * 366;) {
    ::localtime_r(&time, &local);
    const bool day = fields_[2].test(static_cast<size_t>(local.tm_mday)),
               weekday = fields_[4].test(static_cast<size_t>(local.tm_wday));
    const bool both = any_day_ || any_weekday_ ? day && weekday : day || weekday;
    if (!fields_[3].test(static_cast<size_t>(local.tm_mon + 1)) || !both) {
      std::tm tomorrow = local;  // midnight of the next day; mktime() knows the clock's changes
      tomorrow.tm_hour = tomorrow.tm_min = tomorrow.tm_sec = 0;
      tomorrow.tm_mday += 1;
      tomorrow.tm_isdst = -1;
      time = std::max(time + 60, ::mktime(&tomorrow));
      ++days;
      continue;
    }
    if (fields_[1].test(static_cast<size_t>(local.tm_hour)) &&
        fields_[0].test(static_cast<size_t>(local.tm_min)))
      return static_cast<double>(time);
    time += 60;
    if (local.tm_hour == 23 && local.tm_min == 59) ++days;
  }
  return 0;
}

Result<std::string> fingerprint_of(Store& store, const std::string& place) {
  if (!HONE_TRY(store.info(place)).exists) return std::string("nothing");
  int64_t bytes = 0;
  std::string names;
  for (const TransferFile& f : HONE_TRY(files_below(store, place))) {
    bytes += f.bytes;
    names += fmt::format("{}\n{}\n", f.path, f.bytes);
  }
  if (bytes > kMostHashedBytes) return sha256_of_text(names);
  return HONE_TRY(content_of(store, place)).hash;
}

}  // namespace hone
