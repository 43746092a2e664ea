// The web server of `hone ui`: serves the pages, and the JSON that the pages read.
//
//   auto ui = HONE_TRY(WebUi::start({.http = {.port = 7860}, .folder = "."}));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/http/server.h"
#include "operate/web/run_document.h"

namespace hone {

struct WebUiOptions {
  HttpOptions http = {};
  std::string folder = ".";                    // with the runs, pipelines and data to show
  std::vector<std::string> data_folders = {};  // other folders whose data files may be shown
  std::string registry = {};                   // address for Registry::open
  // Address of the inference server to which the page "Playground" sends requests.
  std::string endpoint_url = "http://127.0.0.1:8080";
  std::string endpoint_key = {};  // access key, sent only to the server at endpoint_url; "": none
  std::string version = {};       // version of hone
  ErrorPageText error_page = {};  // explains the errors of failed runs; null: no explanations
};

class WebUi {
 public:
  // Starts the server. Errors: H3501 a folder or the endpoint's address cannot be used; those of HttpServer::start.
  static Result<std::unique_ptr<WebUi>> start(const WebUiOptions& options);
  ~WebUi();  // ends all connections
  std::string url() const;

 private:
  struct Impl;
  explicit WebUi(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone
