#include "run/commands/runs_export.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/web/run_document.h"
#include "run/commands/command.h"
#include "run/commands/error_pages.h"

namespace hone {

Result<RunRow> found_run(const std::string& run, const std::string& folder) {
  RunRow row = HONE_TRY(find_run(run, {folder}));
  if (row.namesakes > 0)
    log_info(
        "{:<11} {}, the newest of {} runs named '{}': {}; name another one by its id or folder",
        "chosen", text_at(row.run, "id"), row.namesakes + 1, run, row.log);
  return row;
}

Result<int> export_run(const std::string& run, const std::string& folder,
                       const std::string& output) {
  const RunRow row = HONE_TRY(found_run(run, folder));
  RunDocumentOptions options;
  options.error_page = [](const std::string& code) { return std::string(error_page(code)); };
  options.version = version();
  const std::string page = HONE_TRY(run_document(row, options));
  const std::string path = output.empty() ? run_document_name(row) : output;
  HONE_TRY(file_store().write(path, page));
  log_info("{:<11} {} ({})", "exported", path, format_bytes(static_cast<int64_t>(page.size())));
  return kExitDone;
}

Result<int> tag_run_by_name(const std::string& run, const std::string& folder,
                            const std::vector<std::string>& tags) {
  const RunRow row = HONE_TRY(found_run(run, folder));
  HONE_TRY(tag_run(row, tags));
  log_info("{:<11} {}: {}", "tagged", text_at(row.run, "id"),
           tags.empty() ? "no tags" : join(tags, ", "));
  return kExitDone;
}

Result<int> print_tags(const std::string& run, const std::string& folder) {
  const RunRow row = HONE_TRY(found_run(run, folder));
  for (const std::string& tag : row.tags) print_out(tag + "\n");
  return kExitDone;
}

}  // namespace hone
