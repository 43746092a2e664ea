#include "run/commands/in_flags.h"

#include "base/core/text.h"
#include "base/settings/flag_names.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "operate/monitor/origin.h"

namespace hone {
namespace {

// The remedy `todo` for text of `place`, "a.csv:3:7", that is not UTF-8, with the command that mends the file; without a
// place as it is.
std::string with_fix_command(const Schema& schema, std::string todo, const std::string& place) {
  if (!has_setting(schema, "encoding")) todo = "save the file as UTF-8";
  const size_t column = place.rfind(':');
  if (column == std::string::npos || column == 0) return todo;
  const size_t line = place.rfind(':', column - 1);
  if (line == std::string::npos) return todo;
  const std::string file = place.substr(0, line);
  const bool plain = file.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_./+-=,@%") == std::string::npos;
  return fmt::format("{}; `hone check --task clm --train_file {} --fix fixed` writes a clean copy",
                     todo, plain ? file : fmt::format("'{}'", file));
}

// Flags for settings, and the user's own model and files for the copies of hone pull.
std::string in_words_of_user(const Schema& schema, const std::string& text) {
  constexpr const char *kData = "dataset_name", *kModel = "model_name_or_path";
  std::string out = with_flags(schema, text);
  if (has_setting(schema, kModel)) {
    const std::string copy = value_text(schema.at(kModel).value()), own = model_name_of(copy);
    const size_t at = copy == own ? std::string::npos : out.find(copy);
    // A model that is one file is in the copy's folder under its own name.
    const std::string inside = "/" + last_part(own);
    const bool is_file = at != std::string::npos && own.ends_with(inside) &&
                         out.compare(at + copy.size(), inside.size(), inside) == 0 &&
                         !is_folder(own);
    if (at != std::string::npos) out.replace(at, copy.size() + (is_file ? inside.size() : 0), own);
  }
  if (!has_setting(schema, kData)) return out;
  return with_pulled_files(value_text(schema.at(kData).value()), std::move(out));
}

}  // namespace

Result<int> in_flags(const Schema& schema, Result<int> done) {
  if (done.ok()) return done;
  const Error& given = done.error();
  Error error(given.error_code(), in_words_of_user(schema, given.what()));
  for (const std::string& where : given.where()) error.at(in_words_of_user(schema, where));
  error.todo(in_words_of_user(schema, given.remedy()));
  if (error.is(err::kNotUtf8) && !error.where().empty())
    error.todo(with_fix_command(schema, error.remedy(), error.where()[0]));
  return error;
}

Findings in_flags(const Schema& schema, const Findings& findings) {
  Findings out;
  for (Finding f : findings.all()) {
    f.what = in_words_of_user(schema, f.what);
    f.where = in_words_of_user(schema, f.where);
    f.todo = in_words_of_user(schema, f.todo);
    if (f.id == err::kNotUtf8.id) f.todo = with_fix_command(schema, f.todo, f.where);
    out.add(std::move(f));
  }
  return out;
}

std::string uncounted_argument(const std::string& place) {
  const size_t flag = place.find("--");
  return place.starts_with("argument ") && flag != std::string::npos ? place.substr(flag) : place;
}

}  // namespace hone
