// The state of an output folder, so that training can start, start again, continue or refuse.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {

// A run of hone keeps this file in its output folder: {"state": "running" | "finished", "run": …}.
inline constexpr const char* kRunFile = "hone_run.json";
// Runs and refused runs write it (operate/monitor): it does not say that the folder holds a run.
inline constexpr const char* kRunLogFile = "hone_log.jsonl";
inline constexpr const char* kCheckSamples = "check_samples";  // folder that hone check writes

enum class OutputDirKind {
  absent,           // begin
  empty,            // begin
  hone_unfinished,  // hone's run file and no checkpoint: begin again
  has_checkpoints,  // continue from checkpoints.front(), or start again
  finished,         // hone ended its run here (checkpoints may be there)
  foreign_files,    // files of something else: refuse
};

struct OutputDir {
  OutputDirKind kind = OutputDirKind::absent;
  std::vector<CheckpointInfo> checkpoints;  // newest first
  std::vector<std::string> foreign;         // names, for the message; only with foreign_files
  Json run;                                 // the argument of mark_run(); null: none
};

// Reads only. H2213 when `path` is a file. Names that begin with '.' count as nothing.
Result<OutputDir> classify_output_dir(const std::string& path, Store& store = file_store());

// Makes the folder and its run file, durable, before anything else is written into it.
Status mark_run(const std::string& path, bool finished, const Json& run = {},
                Store& store = file_store());

}  // namespace hone
