// Shared parts of hone ui's routes. Each takes a request below /api and returns an answer; several
// threads may call it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"
#include "learn/tokenizers/tokenizer.h"
#include "operate/http/request.h"
#include "operate/monitor/run_list.h"
#include "operate/registry/registry.h"
#include "operate/web/data_places.h"
#include "operate/web/run_document.h"
#include "operate/web/task_view.h"

namespace hone {

struct ApiRequest {
  std::vector<std::string> parts;            // after /api/<route>: {} or {"ID"}
  std::map<std::string, std::string> query;  // decoded
  std::string get(const std::string& key, const std::string& otherwise = "") const;
  // A whole number from 0 to `most`; `otherwise` for everything else.
  int64_t number(const std::string& key, int64_t otherwise, int64_t most) const;
  // H3502 if one of these is given and not a whole number.
  Status check_numbers(std::initializer_list<const char*> keys) const;
};
// Parses "a=b&c=d"; nothing if an escape is malformed.
std::optional<std::map<std::string, std::string>> parse_query(std::string_view query);

// Status 200 with browser_json().
WebAnswer api_answer(const OrderedJson& value);
// The same with a last member "rows", by browser_rows_json().
WebAnswer api_rows_answer(const OrderedJson& head, const OrderedJson& rows);
// Status 404 for missing things (H3112, H3135, H3167, H3503), else `status`, with the error's code, what,
// where and what to do.
WebAnswer api_failure(const Error& error, int status = 500);

// /api/runs, /api/runs/ID?from=BYTES: the content of the run's log after these bytes;
// /api/runs/ID/export: the run as one HTML file.
class RunsApi {
 public:
  RunsApi(std::string folder, RunDocumentOptions document)
      : folder_(std::move(folder)), document_(std::move(document)) {}
  WebAnswer answer(const ApiRequest& request);
  // The newest first; `joins_attempts`: of a run that was continued the last attempt alone.
  Result<std::vector<RunRow>> rows(bool joins_attempts = false);

 private:
  struct Log {
    std::string head;   // its first bytes, by which a replaced file is known
    int64_t bytes = 0;  // of its lines in `rows`
    std::vector<RunRow> rows;
  };
  static Status read_more(Log& log, const std::string& name);
  Result<WebAnswer> one(const ApiRequest& request);
  std::string folder_;
  RunDocumentOptions document_;
  std::mutex mutex_;
  std::map<std::string, Log> logs_;  // only new lines are read
};

// /api/pipelines, /api/pipelines/RUN, /api/pipelines/RUN/STEP: the end of a step's log.
class PipelinesApi {
 public:
  explicit PipelinesApi(std::string folder) : folder_(std::move(folder)) {}
  WebAnswer answer(const ApiRequest& request);

 private:
  static constexpr size_t kMostKept = 64;
  Result<WebAnswer> one(const std::string& id);
  OrderedJson interval_of(const std::string& folder, const std::string& hash,
                          const std::string& metric);
  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, OrderedJson> intervals_;
};

// /api/models, /api/models/NAME, /api/models/NAME/compare?a=1&b=2
class ModelsApi {
 public:
  explicit ModelsApi(std::string address) : address_(std::move(address)) {}
  WebAnswer answer(const ApiRequest& request);
  // The endpoints with their addresses and models. Errors: those of the registry.
  Result<OrderedJson> endpoints();
  Result<Endpoint> endpoint(const std::string& name);  // H3135
  // The folder or URL of a version. Errors: those of resolve_model.
  Result<std::string> source_of(const std::string& reference);

 private:
  Result<Registry*> registry();  // opened by the first request; H3131 if it cannot be
  Result<WebAnswer> all(Registry& registry);
  Result<WebAnswer> one(Registry& registry, const std::string& name);
  Result<WebAnswer> compared(Registry& registry, const std::string& name,
                             const ApiRequest& request);
  std::string address_;
  std::mutex mutex_;
  std::unique_ptr<Registry> registry_;
};

// /api/data: data sets of the runs, and files that can be shown;
// /api/data?file=&model=&task=&run=&from=&count=&wrong=: rows of a file or of a folder of images, and the tokens that a task
// makes of them; with wrong=1 only predictions that differ from their reference;
// /api/data?file=&row=&column= and /api/data?picture=PATH: an image.
class DataApi {
 public:
  DataApi(DataPlaces places, RunsApi& runs, ModelsApi& models)
      : places_(std::move(places)), runs_(runs), models_(models) {}
  // `stops`: whether nobody waits for the answer any longer.
  WebAnswer answer(const ApiRequest& request, const std::function<bool()>& stops);

 private:
  Result<WebAnswer> list();
  Result<WebAnswer> rows_of(const ApiRequest& request, const std::function<bool()>& stops);
  Result<std::optional<RunRow>> run_of(const ApiRequest& request);
  static Result<WebAnswer> image_of(const std::string& path, const RowOptions& options, int64_t row,
                                    const std::string& column);
  Result<WebAnswer> folder_rows(const std::string& name, const std::string& path, int64_t from,
                                int64_t count);
  Result<std::shared_ptr<Tokenizer>> tokenizer(const std::string& model);
  Result<std::shared_ptr<const TaskView>> view(const std::string& task, const std::string& model,
                                               const std::optional<RunRow>& run);
  DataPlaces places_;
  RunsApi& runs_;
  ModelsApi& models_;
  std::mutex mutex_;  // protects what is kept for later requests
  std::map<std::string, std::shared_ptr<Tokenizer>> tokenizers_;
  std::map<std::string, std::shared_ptr<const TaskView>> views_;
};

}  // namespace hone
