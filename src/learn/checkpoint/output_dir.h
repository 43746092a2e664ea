// Finds out what an output folder contains, so that training can decide to start, continue or refuse.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {

// A run of hone keeps this file in its output folder: {"state": "running" or "finished", "run": ...}.
inline constexpr const char* kRunFile = "hone_run.json";
// The log of runs (operate/monitor). Refused runs write it too, so it does not prove that hone trained here.
inline constexpr const char* kRunLogFile = "hone_log.jsonl";
inline constexpr const char* kCheckSamples = "check_samples";  // folder that `hone check` writes

// The contents of an output folder, and what training does with it.
enum class OutputDirKind {
  absent,           // there is no such folder: start
  empty,            // start
  hone_unfinished,  // a run of hone without a complete checkpoint: start again
  has_checkpoints,  // continue from checkpoints.front(), or start again
  // A run of hone has ended here; there may be checkpoints. If the same command runs again, it does nothing.
  finished,
  foreign_files,  // files that hone did not write: refuse
};

struct OutputDir {
  OutputDirKind kind = OutputDirKind::absent;
  std::vector<CheckpointInfo> checkpoints;  // complete ones, newest first
  // Files that hone did not write; only with foreign_files.
  std::vector<std::string> foreign;
  Json run;  // `run` of the last mark_run(); null: none
};

// Inspects the folder; changes nothing. Ignores files whose names begin with '.', the run log and check_samples. H2213:
// `path` is a file. Errors of the store.
Result<OutputDir> classify_output_dir(const std::string& path, Store& store = file_store());

// Creates the folder and writes its run file with the state "running" or "finished" and `run`. Call it before anything
// else is written into the folder. Folder and file are durable on return. Errors: those of the store.
Status mark_run(const std::string& path, bool finished, const Json& run = {},
                Store& store = file_store());

}  // namespace hone
