// Runs a pipeline on this machine. Progress is recorded at once, so a killed run continues: a
// finished step never runs again; a running step starts again, or resumes if its command can; its
// files appear only when they are complete.
//   <folder>/pipeline.db             state of all runs
//   <folder>/<run>/<step>/           the files of a step
//   <folder>/<run>/<step>.json       marks them complete: files with their hashes, the result
//   <folder>/<run>/<step>.part/      a running step
//   <folder>/<run>/logs/<step>.log   its output; .out: its standard output
// If pipeline_root is a bucket, <folder> is on this machine, and each finished step's folder is
// copied to <pipeline_root>/<run>/<step>/, its <step>.json last. Steps that record paths for other
// machines record these URLs (published.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/state.h"

namespace hone {

struct PipelineOptions {
  std::string root;    // path or URL
  std::string folder;  // on this machine; "": root, or a folder of this account for a bucket's root
  std::string program;  // program for a step's command "hone"
  std::string version;  // of hone: steps depend on it
  std::string project;  // of Google Cloud; "": the environment's
  std::string run;      // name of the run, new or to continue; "": chosen
  bool fresh = false;   // a new run that reuses nothing
  int64_t jobs = 1;     // steps that run at the same time
  // Returns lines about the result of a step; `folder`: the place of its files.
  std::function<std::vector<std::string>(const PipelineStep& step, const StepRow& row,
                                         const std::string& folder)>
      results = {};
};

struct PipelineOutcome {
  std::string run, link, status;  // status: finished, failed, stopped
  int stop_signal = 0;
  std::vector<StepRow> steps;  // in the order of the pipeline
  std::optional<Error> error;  // of the step that failed
  OrderedJson json() const;    // with "endpoint" if a step printed one
};

// Errors: H3161 (another file's run), H3164, H3165; the error of a failed step, H3163 or H3166, is
// in the outcome. SIGINT and SIGTERM stop the run.
Result<PipelineOutcome> run_pipeline(const Pipeline& pipeline, const PipelineOptions& options);

// This machine's folder for a root.
std::string folder_of_root(const std::string& root);
// A link to a run for a browser or a shell.
std::string link_to_run(const std::string& root, const std::string& run,
                        const std::string& project);

// Whether a retry of a step can help: false for an error of hone that would occur again. `error`:
// the one that the command reported.
bool may_be_repeated(const std::vector<std::string>& command, int status,
                     const std::optional<Error>& error);

// The reason of a program's failure: the lines of the error that it reported, else the last line of
// its log.
std::vector<std::string> lines_of_failure(const std::optional<Error>& error, std::string_view log);

}  // namespace hone
