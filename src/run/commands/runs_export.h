// The run that a verb of `hone runs` is about, and the verbs that write: a run as an HTML file, tags into its log.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/monitor/run_list.h"

namespace hone {

// find_run(), with a line on standard error that names the chosen one of several runs of a name. Errors: H3112, those of
// the store.
Result<RunRow> found_run(const std::string& run, const std::string& folder);

// Writes the run as one HTML file; `output` "": the name of the run with .html. Errors: H3112, those of the store.
Result<int> export_run(const std::string& run, const std::string& folder,
                       const std::string& output);
// Gives the run these tags. Errors: H3112, those of the store.
Result<int> tag_run_by_name(const std::string& run, const std::string& folder,
                            const std::vector<std::string>& tags);

// One tag a line. Errors: H3112, those of the store.
Result<int> print_tags(const std::string& run, const std::string& folder);

}  // namespace hone
