// Writes a run as one HTML file: the run's page of hone ui with its style, its scripts and the content of the run's
// log. A browser can open the file from a disk. The file sends no requests; its Content-Security-Policy forbids them.
#pragma once

#include <functional>
#include <string>

#include "operate/monitor/run_list.h"

namespace hone {

// Returns the explanation of an error code, in Markdown; "": there is no such error.
using ErrorPageText = std::function<std::string(const std::string& code)>;

struct RunDocumentOptions {
  ErrorPageText error_page = {};  // explains the error of a failed run; null: no explanations
  std::string version = {};       // version of hone
};
// The HTML file of a run, without secrets (base/core/redact.h). Errors: those of the store.
Result<std::string> run_document(const RunRow& row, const RunDocumentOptions& options);
// A name for the HTML file of a run: "name-of-the-run.html".
std::string run_document_name(const RunRow& row);
}  // namespace hone
