// hone texttocsv [IN OUT]: a text file as the csv that run_clm recipes take, every byte kept.
#include <filesystem>

#include "base/core/log.h"
#include "learn/data/files.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct TextToCsvSettings {
#define HONE_SETTINGS "run/commands/texttocsv.def"
#include "base/settings/fields.inc"
};

Status convert_file(const std::string& in, const std::string& out) {
  std::error_code ec;
  if (std::filesystem::equivalent(in, out, ec))
    return Error(err::kOutputIsInput,
                 fmt::format("'{}' is both the text to read and the csv to write", in))
        .todo("name another output");
  HONE_TRY(text_to_csv(in, out));
  log_info("{} -> {}: one row, column text", in, out);
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
    if (s.output.empty())
      s.output = std::filesystem::path(s.input).replace_extension(".csv").string();
    HONE_TRY(convert_file(s.input, s.output));
    return kExitDone;
  }
  for (const std::string name : {"train", "validation"})
    HONE_TRY(convert_file(name + ".txt", name + ".csv"));
  return kExitDone;
}

}  // namespace

Command command_texttocsv() {
  return {.name = "texttocsv",
          .summary = "write a text file as a csv of one row, every byte kept",
          .run = run_texttocsv};
}

}  // namespace hone
