// The tensors and files of a checkpoint, and how they are written: at once by one rank, or by each
// rank its part.
#pragma once

#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/run_ranks.h"
#include "learn/train/trainer.h"

namespace hone {

// Tensors of the session in a checkpoint.
struct SavedTensors {
  std::vector<TensorData> weights, moments;

  bool host_reads(const Session& s) const;
  // From now on they are in `memory`.
  Status copy(const Session& s, std::span<std::byte> memory);
};

// `moments`: names of the optimizer's states that are saved too.
SavedTensors saved_tensors(TrainTask& task, const std::vector<std::string>& moments);

// The content of a checkpoint besides files of the model.
struct SavedRun {
  SavedTensors tensors;
  Json state;                 // null: without what is needed to continue
  std::string trainer_state;  // the file's text
};

// Writes checkpoint-<step> into the folder; calls `all_read` when the tensors have been read. On several
// ranks all call it: each writes its part, without any other rank's help, and rank 0 the manifest
// after it knows all parts.
Result<std::string> write_checkpoint(RunRanks& ranks, const std::string& folder, int64_t step,
                                     TrainTask& task, const SavedRun& saved,
                                     const std::function<void()>& all_read);
// Writes the states that this rank holds as checkpoint-<step> into the folder, under their names in the session,
// with its share of those that all ranks hold; rank 0 also what else is needed to continue. All ranks call it.
Status write_part_of_run(RunRanks& ranks, const std::string& folder, int64_t step, TrainTask& task,
                         const SavedRun& saved);
// Writes the weights of the final model into the folder: rank 0 alone, or, if they are cut between the
// ranks, each rank some of the files.
Status write_model(RunRanks& ranks, const std::string& folder, TrainTask& task);

}  // namespace hone
