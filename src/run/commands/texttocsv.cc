// hone texttocsv [IN OUT]: a text file as the csv that run_clm recipes take, every byte kept.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/core/log.h"
#include "learn/data/rows/files.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct TextToCsvSettings {
#define HONE_SETTINGS "run/commands/texttocsv.def"
#include "base/settings/fields.inc"
};

bool same_bytes(const std::string& a, const std::string& b) {
  std::ifstream x(a, std::ios::binary), y(b, std::ios::binary);
  return std::equal(std::istreambuf_iterator<char>(x), {}, std::istreambuf_iterator<char>(y), {});
}

// An existing csv that was not named is kept if its content differs.
Status convert_file(const std::string& in, const std::string& out, bool overwrite) {
  std::error_code ec;
  if (fs::equivalent(in, out, ec))
    return Error(err::kOutputIsInput,
                 fmt::format("'{}' is both the text to read and the csv to write", in))
        .todo("name another output");
  if (overwrite || !fs::is_regular_file(out, ec)) {
    HONE_TRY(text_to_csv(in, out));
    log_info("{} -> {}: one row, column text", in, out);
    return Ok{};
  }
  const std::string made = fmt::format("{}.tmp-{}", out, getpid());
  const Status written = text_to_csv(in, made);
  const bool same = written.ok() && same_bytes(made, out);
  fs::remove(made, ec);
  HONE_TRY(written);
  if (!same)
    return Error(err::kFileExists, fmt::format("'{}' exists and holds something else", out))
        .todo(fmt::format("name another file, or replace it: `hone texttocsv {} {}`", in, out));
  log_info("{} -> {}: exists already", in, out);
  return Ok{};
}

Result<int> run_texttocsv(const std::vector<std::string>& args) {
  TextToCsvSettings s;
  Schema schema("hone texttocsv", "write a text file as csv with one row, for train --train_file");
  s.bind(schema);
  schema.positional("input");
  schema.positional("output");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (!s.input.empty()) {
    const bool named = !s.output.empty();
    if (!named) s.output = fs::path(s.input).replace_extension(".csv").string();
    HONE_TRY(convert_file(s.input, s.output, named));
    return kExitDone;
  }
  for (const std::string name : {"train", "validation"})
    HONE_TRY(convert_file(name + ".txt", name + ".csv", false));
  return kExitDone;
}

}  // namespace

Command command_texttocsv() {
  return {.name = "texttocsv",
          .summary = "write a text file as a csv of one row, every byte kept",
          .in = CommandGroup::kOtherPrograms,
          .run = run_texttocsv};
}

}  // namespace hone
