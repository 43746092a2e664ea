// Runs a pipeline on this machine. Progress is recorded at once, so the same command continues a killed run. A finished
// step does not run again. A step that was running starts again; its command may resume from its own files.
// The files of a step appear only when they are complete.
//   <folder>/pipeline.db             state of all runs
//   <folder>/<run>/<step>/           the files of a finished step
//   <folder>/<run>/<step>.json       their names and hashes, and the step's result; marks them complete
//   <folder>/<run>/<step>.part/      the files of a running step
//   <folder>/<run>/logs/<step>.log   its standard error
//   <folder>/<run>/logs/<step>.out   its standard output
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
  std::string root;     // pipeline_root: path or URL
  std::string folder;   // folder on this machine; "": folder_of_root(root)
  std::string program;  // path of the program to run for a step's command "hone"
  std::string version;  // version of hone; results from other versions are not reused
  std::string project;  // Google Cloud's project; "": from the environment
  // Name of a new run, or of a run to continue. "": continues the newest run of the same pipeline file and root if that
  // run is neither finished nor cancelled; else starts a new run with a new name.
  std::string run;
  bool fresh = false;  // start a new run that reuses no results
  int64_t jobs = 1;    // limit for steps that run at the same time
  // Returns lines to show below a finished step; `folder` has the step's files. Null: none.
  std::function<std::vector<std::string>(const PipelineStep& step, const StepRow& row,
                                         const std::string& folder)>
      results = {};
};

struct PipelineOutcome {
  // run: its name; link: from link_to_run(); status: "finished", "failed" or "stopped".
  std::string run, link, status;
  int stop_signal = 0;         // the signal that stopped the run; 0: none
  std::vector<StepRow> steps;  // in the order of the pipeline
  std::optional<Error> error;  // the error of the step that failed
  OrderedJson json() const;    // the outcome for programs; with "endpoint" if a step printed one
};

// Runs the pipeline until it has finished, failed, or was stopped by SIGINT or SIGTERM. The error of a failed step,
// such as H3163 (its command failed) or H3166 (an input is missing), is in the outcome. Errors: H3161 the run belongs
// to another pipeline file; H3164 the state cannot be kept; H3165 another process runs this run.
Result<PipelineOutcome> run_pipeline(const Pipeline& pipeline, const PipelineOptions& options);

// The folder on this machine for a pipeline_root: the root itself, or a folder of this account if it is a bucket.
std::string folder_of_root(const std::string& root);
// A link that people can open to see a run. For a gs:// root: a page of Google Cloud's console. For another URL: the
// URL itself. For a path: a file:// URL.
std::string link_to_run(const std::string& root, const std::string& run,
                        const std::string& project);

// Whether a retry of a step can help: false if `command` is a hone command whose error would occur again. `status` is
// the command's exit status; `error` is the error that the command reported, if any.
bool may_be_repeated(const std::vector<std::string>& command, int status,
                     const std::optional<Error>& error);

// Lines that explain why a program failed: the error that it reported, else the last line of its log.
std::vector<std::string> lines_of_failure(const std::optional<Error>& error, std::string_view log);

}  // namespace hone
