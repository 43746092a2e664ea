// Runs a pipeline on this machine. What was reached is kept at once, so that a run that is killed in
// whatever way continues where it was: a step that is done is never run again, a step at work begins
// again, or continues if its command can, and what it wrote shows when it is whole.
//
//   <folder>/pipeline.db             state of all runs
//   <folder>/<run>/<step>/           what a step wrote
//   <folder>/<run>/<step>.json       that it is whole: its files with their hashes, its result
//   <folder>/<run>/<step>.part/      a step at work
//   <folder>/<run>/logs/<step>.log   what it printed; .out: its standard output
//
// Where pipeline_root is a bucket, <folder> is on this machine, and each step's folder is copied to
// <pipeline_root>/<run>/<step>/ when it is done, its <step>.json last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "operate/pipeline/pipeline.h"
#include "operate/pipeline/state.h"

namespace hone {

struct PipelineOptions {
  std::string root;    // path or URL
  std::string folder;  // on this machine; "": root, or a folder of this account for a bucket's root
  std::string program;  // what a step's command "hone" is
  std::string version;  // of hone: a part of what a step depends on
  std::string project;  // of Google Cloud; "": the environment's
  std::string run;      // name of the run, new or to be continued; "": chosen
  bool fresh = false;   // a new run that takes nothing from earlier ones
  int64_t jobs = 1;     // steps at work at a time
};

struct PipelineOutcome {
  std::string run, link, status;  // status: finished, failed, stopped
  int stop_signal = 0;
  std::vector<StepRow> steps;  // in the order of the pipeline
  std::optional<Error> error;  // of the step that failed
  OrderedJson json() const;    // with "endpoint" where a step printed one
};

// Errors: H3161 (another file's run), H3164, H3165; a step that fails, H3163 or H3166, is in the outcome.
// SIGINT and SIGTERM stop the run.
Result<PipelineOutcome> run_pipeline(const Pipeline& pipeline, const PipelineOptions& options);

// The folder of this machine for a root.
std::string folder_of_root(const std::string& root);
// A link to a run for a browser or a shell.
std::string link_to_run(const std::string& root, const std::string& run,
                        const std::string& project);

// A step whose error would be the same again is not repeated: a mistake that hone explains.
// `error`: what the command reported.
bool may_be_repeated(const std::vector<std::string>& command, int status,
                     const std::optional<Error>& error);

std::string own_program();  // the path of this program

// Why a program failed: the lines of the error that it reported, else the last line of its log.
std::vector<std::string> lines_of_failure(const std::optional<Error>& error, std::string_view log);

}  // namespace hone
