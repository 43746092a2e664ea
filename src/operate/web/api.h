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
#include "learn/tokenizers/tokenizer.h"
#include "operate/http/request.h"
#include "operate/monitor/run_list.h"
#include "operate/registry/registry.h"
#include "operate/web/run_document.h"

namespace hone {

struct ApiRequest {
  std::vector<std::string> parts;            // after /api/<route>: {} or {"ID"}
  std::map<std::string, std::string> query;  // decoded
  std::string get(const std::string& key, const std::string& otherwise = "") const;
  // A whole number from 0 to `most`; `otherwise` for everything else.
  int64_t number(const std::string& key, int64_t otherwise, int64_t most) const;
};
// Parses "a=b&c=d"; nothing if an escape is malformed.
std::optional<std::map<std::string, std::string>> parse_query(std::string_view query);

// Status 200 with browser_json().
WebAnswer api_answer(const OrderedJson& value);
// Status 404 for missing things (H3112, H3135, H3167), else `status`, with the error's code, what,
// where and what to do.
WebAnswer api_failure(const Error& error, int status = 500);

// /api/runs, /api/runs/ID?from=BYTES: the content of the run's log after these bytes;
// /api/runs/ID/export: the run as one HTML file.
class RunsApi {
 public:
  RunsApi(std::string folder, RunDocumentOptions document)
      : folder_(std::move(folder)), document_(std::move(document)) {}
  WebAnswer answer(const ApiRequest& request);

 private:
  struct Log {
    std::string head;   // its first bytes, by which a replaced file is known
    int64_t bytes = 0;  // of its lines in `rows`
    std::vector<RunRow> rows;
  };
  static Status read_more(Log& log, const std::string& name);
  Result<std::vector<RunRow>> rows();
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
  std::string folder_;
};

// /api/models, /api/models/NAME
class ModelsApi {
 public:
  explicit ModelsApi(std::string address) : address_(std::move(address)) {}
  WebAnswer answer(const ApiRequest& request);
  // The folder or URL of a version. Errors: those of resolve_model.
  Result<std::string> source_of(const std::string& reference);

 private:
  Result<Registry*> registry();  // opened by the first request; H3131 if it cannot be
  Result<WebAnswer> all(Registry& registry);
  Result<WebAnswer> one(Registry& registry, const std::string& name);
  std::string address_;
  std::mutex mutex_;
  std::unique_ptr<Registry> registry_;
};

// /api/data: the files that can be shown; /api/data?file=&model=&task=&from=&count=: rows of one.
class DataApi {
 public:
  DataApi(std::string folder, ModelsApi& models) : folder_(std::move(folder)), models_(models) {}
  // `stops`: whether nobody waits for the answer any longer.
  WebAnswer answer(const ApiRequest& request, const std::function<bool()>& stops);

 private:
  Result<std::shared_ptr<Tokenizer>> tokenizer(const std::string& model);
  std::string folder_;
  ModelsApi& models_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Tokenizer>> tokenizers_;
};

// The real path of `path` below `folder`, after links and ".."; nothing if it is outside or
// missing.
std::optional<std::string> path_below(const std::string& folder, const std::string& path);
// A file, and not a pipe or device, which may block for ever.
bool is_regular(const std::string& path);

}  // namespace hone
