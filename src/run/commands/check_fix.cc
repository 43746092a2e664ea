#include "run/commands/check_fix.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/store/new_folders.h"
#include "base/store/unpack.h"
#include "learn/check/fix_text.h"
#include "learn/data/rows/files.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {

Result<int> fix_files(const Task& task, const std::string& folder, bool json) {
  const TaskSettings& s = *task.settings;
  std::vector<std::string> files = HONE_TRY(expand_files(s.train_file));
  for (std::string& file : HONE_TRY(expand_files(s.validation_file, kValidationSplit)))
    files.push_back(std::move(file));
  if (files.empty())
    return Error(err::kMissingArgument, "--fix needs data: there is no --train_file")
        .todo("name the files by --train_file and --validation_file");
  const Charset encoding = HONE_TRY(encoding_of(s.encoding));
  RowOptions options;
  options.format = task.file_format(files);
  const NewFolders made(folder);
  HONE_TRY(file_store().make_dirs(folder));
  OrderedJson list = OrderedJson::array();
  std::string text;
  int64_t lost = 0;
  for (const std::string& file : files) {
    const Format format = HONE_TRY(find_format(file, options));
    if (!format.text) {
      text += fmt::format("{}: {} is not a text format, so there is nothing to mend\n", file,
                          format.name);
      continue;
    }
    const std::string name = std::filesystem::path(file).filename();
    const std::string to = fmt::format("{}/{}", folder, without_packing(name));
    if (HONE_TRY(file_store().exists(to)))
      return Error(err::kFileExists, fmt::format("'{}' exists already", to))
          .at("--fix " + folder)
          .todo("name another folder, or remove the file");
    const FixReport r = HONE_TRY(fix_text(file, to, encoding));
    lost += r.lost;
    list.push_back({{"from", file},
                    {"to", to},
                    {"encoding", r.encoding},
                    {"unpacked", r.unpacked},
                    {"byte_order_mark", r.byte_order_mark},
                    {"repaired_bytes", r.repaired},
                    {"lost_bytes", r.lost},
                    {"places", r.places}});
    text += fmt::format("{} -> {}: {}{}{}\n", file, to, r.encoding, r.unpacked ? ", unpacked" : "",
                        r.byte_order_mark ? ", byte order mark taken off" : "");
    if (r.repaired > 0) text += fmt::format("  bytes read as cp1252: {}\n", r.repaired);
    if (r.lost > 0)
      text += fmt::format("  bytes that are not text and became U+FFFD: {}\n", r.lost);
    for (const std::string& place : r.places) text += fmt::format("  at   {}\n", place);
  }
  print_out(json ? dump_json(OrderedJson{{"files", list}}) + "\n" : text);
  return lost > 0 ? kExitUserError : kExitDone;
}

}  // namespace hone
