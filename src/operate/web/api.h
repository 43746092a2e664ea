// The routes of hone ui (hone's web pages) below /api. Each class answers the requests of one route; several threads
// may call answer() at the same time.
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
  std::vector<std::string> parts;            // path after /api/<route>, split at '/'
  std::map<std::string, std::string> query;  // decoded keys and values of the query
  // The value of a key of the query; `otherwise` if the key is missing or its value is "".
  std::string get(const std::string& key, const std::string& otherwise = "") const;
  // The value of a key of the query if it is a whole number from 0 to `most`, else `otherwise`.
  int64_t number(const std::string& key, int64_t otherwise, int64_t most) const;
  // Error H3502: one of these keys has a value that is not a whole number.
  Status check_numbers(std::initializer_list<const char*> keys) const;
};
// Parses and decodes "a=b&c=d"; nullopt if an escape is malformed, or a value has a NUL.
std::optional<std::map<std::string, std::string>> parse_query(std::string_view query);

// An answer with status 200 whose body is browser_json(value).
WebAnswer api_answer(const OrderedJson& value);
// An answer with status 200 whose body is one object: the members of `head`, then a member "rows" that
// browser_rows_json() writes from `rows`. `head` must have at least one member.
WebAnswer api_rows_answer(const OrderedJson& head, const OrderedJson& rows);
// The answer for an error, with the error's code, text, places and remedy. The status is 404 for things that do not
// exist (H3112, H3135, H3167, H3503), else `status`.
WebAnswer api_failure(const Error& error, int status = 500);

// Answers these requests:
//   /api/runs                  a list of all runs
//   /api/runs/ID?from=BYTES    a run, with the content of its log after this number of bytes (run_part.h)
//   /api/runs/ID/export        the run as one HTML file (run_document.h)
class RunsApi {
 public:
  RunsApi(std::string folder, RunDocumentOptions document)
      : folder_(std::move(folder)), document_(std::move(document)) {}
  WebAnswer answer(const ApiRequest& request);
  // All runs below the folder, the newest first. If `joins_attempts` is true, all attempts of one run are one row
  // (with_attempts()).
  Result<std::vector<RunRow>> rows(bool joins_attempts = false);

 private:
  struct Log {
    std::string head;   // the first bytes of the file: if they change, the file was replaced
    int64_t bytes = 0;  // the number of bytes of the file that `rows` contains
    std::vector<RunRow> rows;
  };
  static Status read_more(Log& log, const std::string& name);
  Result<WebAnswer> one(const ApiRequest& request);
  std::string folder_;
  RunDocumentOptions document_;
  std::mutex mutex_;
  std::map<std::string, Log> logs_;  // by path; kept so that only new lines are read
};

// Answers these requests:
//   /api/pipelines             a list of all pipeline runs
//   /api/pipelines/RUN         a pipeline run with its steps
//   /api/pipelines/RUN/STEP    the end of a step's log
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

// Answers these requests, from the registry:
//   /api/models                       a list of all models
//   /api/models/NAME                  a model with its versions
//   /api/models/NAME/compare?a=1&b=2  a comparison of two versions
class ModelsApi {
 public:
  explicit ModelsApi(std::string address) : address_(std::move(address)) {}
  WebAnswer answer(const ApiRequest& request);
  // A list of the endpoints with their addresses and models. Errors: those of the registry.
  Result<OrderedJson> endpoints();
  Result<Endpoint> endpoint(const std::string& name);  // errors: those of Registry::endpoint
  // The folder or URL of a version that resolve_model() finds for `reference`. Errors: those of resolve_model().
  Result<std::string> source_of(const std::string& reference);

 private:
  Result<Registry*> registry();  // opened by the first call; H3131: bad address
  Result<WebAnswer> all(Registry& registry);
  Result<WebAnswer> one(Registry& registry, const std::string& name);
  Result<WebAnswer> compared(Registry& registry, const std::string& name,
                             const ApiRequest& request);
  std::string address_;
  std::mutex mutex_;
  std::unique_ptr<Registry> registry_;
};

// Answers these requests:
//   /api/data                                              the data sets of the runs, and the files that can be shown
//   /api/data?file=&model=&task=&run=&from=&count=&wrong=  rows of a file or of a folder of images, and the tokens that
//                                                          a task makes of them; with wrong=1 only rows whose
//                                                          prediction differs from the reference
//   /api/data?file=&row=&column=                           the image in a cell
//   /api/data?picture=PATH                                 the image at a path
class DataApi {
 public:
  DataApi(DataPlaces places, RunsApi& runs, ModelsApi& models)
      : places_(std::move(places)), runs_(runs), models_(models) {}
  // `stops` returns true if nobody waits for the answer any longer. Then the work ends early.
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
  std::mutex mutex_;  // protects the caches below
  std::map<std::string, std::shared_ptr<Tokenizer>> tokenizers_;
  std::map<std::string, std::shared_ptr<const TaskView>> views_;
};

}  // namespace hone
