// Finds a run by the name in the arguments of hone runs, and implements the verbs `export` and `tag` of hone runs.
#pragma once

#include <string>
#include <vector>

#include "base/core/error.h"
#include "operate/monitor/run_list.h"

namespace hone {

// In the functions below, `run` is the name, the id or the folder of a run, and `folder` is the folder in which to
// search for it. A Result<int> has the exit status. Errors of all functions: H3112 there is no such run, those of the
// store.

// Returns the run that find_run() (operate/monitor/run_list.h) finds. If several runs have the name, this is the newest
// one, and its id is logged.
Result<RunRow> found_run(const std::string& run, const std::string& folder);

// Writes the run as one HTML file with the path `output`; "": a file named after the run.
Result<int> export_run(const std::string& run, const std::string& folder,
                       const std::string& output);
// Sets the tags of the run, in its log.
Result<int> tag_run_by_name(const std::string& run, const std::string& folder,
                            const std::vector<std::string>& tags);

// Prints the tags of the run, one on each line.
Result<int> print_tags(const std::string& run, const std::string& folder);

}  // namespace hone
