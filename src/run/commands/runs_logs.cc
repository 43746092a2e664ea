#include "run/commands/runs_logs.h"

#include <set>

#include "base/core/clock.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "run/commands/command.h"
#include "run/commands/print_table.h"
#include "run/commands/runs_export.h"

namespace hone {
namespace {

constexpr double kFollowSeconds = 0.5;

// "2026-05-04T12:30:05Z WARNING: the text" of a line that a run printed; "" of another one. Further lines of the text
// begin below its first one, so that a table stays aligned.
std::string printed_line(const std::string& line, const std::set<std::string>& ids, bool& ended) {
  const Result<OrderedJson> j = parse_ordered_json(line, "log");
  if (!j.ok() || !j->is_object()) return "";
  const auto labels = j->find("logging.googleapis.com/labels");
  if (labels == j->end() || !ids.contains(text_at(*labels, "run"))) return "";
  const std::string event = text_at(*j, "event");
  ended = event == "end" || (ended && event != "begin");
  if (!event.empty()) return "";
  const std::string severity = text_at(*j, "severity");
  const std::string time = time_cell(text_at(*j, "time")) + " ";
  std::string message = text_at(*j, "message");
  while (message.ends_with('\n')) message.pop_back();
  return time + (severity == "INFO" ? "" : severity + ": ") +
         join(split(message, '\n'), "\n" + std::string(time.size(), ' '));
}

}  // namespace

Result<int> print_run_logs(const RunLogsRequest& s) {
  const RunRow row = HONE_TRY(found_run(s.run, s.folder));
  std::set<std::string> ids{text_at(row.run, "id")};
  for (const RunRow& attempt : row.earlier)
    if (attempt.log == row.log) ids.insert(text_at(attempt.run, "id"));
  install_stop_handlers();
  bool ended = false, first = true;
  for (int64_t shown = 0; !stop_requested();) {
    const int64_t bytes = HONE_TRY(file_store().bytes(row.log));
    std::string text;
    if (bytes > shown) text = HONE_TRY(file_store().read(row.log, shown, bytes - shown));
    text.resize(text.rfind('\n') + 1);  // the last line may still be written
    std::vector<std::string> lines;
    for (const std::string& line : split(text, '\n'))
      if (const std::string printed = printed_line(line, ids, ended); !printed.empty())
        for (const std::string& one : split(printed, '\n')) lines.push_back(one + "\n");
    shown += static_cast<int64_t>(text.size());
    const auto most = static_cast<size_t>(s.tail);
    for (size_t i = first && most > 0 && lines.size() > most ? lines.size() - most : 0;
         i < lines.size(); ++i)
      print_out(lines[i]);
    first = false;
    if (!s.follow || ended) return kExitDone;
    system_clock().sleep(kFollowSeconds);
  }
  return kExitDone;
}

}  // namespace hone
