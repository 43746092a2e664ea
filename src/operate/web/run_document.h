// A run as one HTML file: the page of the run with its style, its scripts and the content of its log. It opens
// from a disk and sends no request; its Content-Security-Policy forbids them.
#pragma once

#include <functional>
#include <string>

#include "operate/monitor/run_list.h"

namespace hone {

// The page of an error in Markdown, by its code; "": no error has it.
using ErrorPageText = std::function<std::string(const std::string& code)>;

struct RunDocumentOptions {
  ErrorPageText error_page = {};  // null: no pages
  std::string version = {};       // of hone
};
// Secrets are removed (base/core/redact.h). Errors: those of the store.
Result<std::string> run_document(const RunRow& row, const RunDocumentOptions& options);
// "name-of-the-run.html"
std::string run_document_name(const RunRow& row);
}  // namespace hone
