// Serves training runs in a folder: their settings, curves and logs.
#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "operate/monitor/errors.h"
#include "operate/web/api.h"
#include "operate/web/errors.h"
#include "operate/web/run_part.h"

namespace hone {

Status RunsApi::read_more(Log& log, const std::string& name) {
  constexpr int64_t kHeadBytes = 256;
  const int64_t bytes = HONE_TRY(file_store().bytes(name));
  if (bytes == log.bytes) return Ok{};
  const std::string head = HONE_TRY(file_store().read(name, 0, std::min(bytes, kHeadBytes)));
  if (bytes < log.bytes || !head.starts_with(log.head)) log = {};
  log.head = head;
  std::string text = HONE_TRY(file_store().read(name, log.bytes, bytes - log.bytes));
  text.resize(text.rfind('\n') + 1);  // the last line may still be written
  add_log_lines(text, name, log.rows);
  log.bytes += static_cast<int64_t>(text.size());
  return Ok{};
}

Result<std::vector<RunRow>> RunsApi::rows(bool joins_attempts) {
  const std::vector<std::string> found = HONE_TRY(find_run_logs({folder_}));
  std::lock_guard lock(mutex_);
  std::map<std::string, Log> now;
  std::vector<RunRow> all;
  for (const std::string& name : found) {
    if (!is_regular(name)) continue;  // it was removed since, or is a pipe
    Log log = std::move(logs_[name]);
    if (!read_more(log, name).ok()) continue;
    all.insert(all.end(), log.rows.begin(), log.rows.end());
    now[name] = std::move(log);
  }
  logs_ = std::move(now);
  remove_copies(all);
  if (joins_attempts) all = with_attempts(std::move(all));
  std::stable_sort(all.begin(), all.end(),
                   [](const RunRow& a, const RunRow& b) { return a.begun_s() > b.begun_s(); });
  return all;
}

Result<WebAnswer> RunsApi::one(const ApiRequest& request) {
  HONE_TRY(request.check_numbers({"from"}));
  const std::string& id = request.parts[0];
  const auto has_id = [&](const RunRow& r) { return text_at(r.run, "id") == id; };
  std::vector<RunRow> all = HONE_TRY(rows(true));
  auto row = std::ranges::find_if(all, has_id);
  if (row == all.end()) {  // an earlier attempt
    all = HONE_TRY(rows(false));
    row = std::ranges::find_if(all, has_id);
  }
  const bool whole = request.parts.size() == 2 && request.parts[1] == "export";
  if (row == all.end() || (request.parts.size() > 1 && !whole))
    return Error(err::kNoRun, fmt::format("no run has the id '{}'", id)).at(folder_);
  if (!whole) return api_answer(HONE_TRY(run_part(*row, request.number("from", 0, INT64_MAX / 2))));
  WebAnswer page{.body = HONE_TRY(run_document(*row, document_)),
                 .type = "text/html; charset=utf-8"};
  page.headers.emplace_back("content-disposition",
                            fmt::format("attachment; filename=\"{}\"", run_document_name(*row)));
  return page;
}

WebAnswer RunsApi::answer(const ApiRequest& request) {
  const auto list = [&]() -> Result<WebAnswer> {
    OrderedJson runs = OrderedJson::array();
    for (const RunRow& row : HONE_TRY(rows(true))) runs.push_back(run_summary(row));
    return api_answer({{"folder", folder_}, {"runs", runs}});
  };
  Result<WebAnswer> given = request.parts.empty() ? list() : one(request);
  if (given.ok()) return std::move(*given);
  return api_failure(given.error(), given.error().is(err::kWebView) ? 400 : 500);
}

}  // namespace hone
