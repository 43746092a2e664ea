// Writes checkpoints and final models: their tensors and files. With one rank, that rank writes everything; with
// several, each rank writes its part of the tensors.
#pragma once

#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/run_ranks.h"
#include "learn/train/trainer.h"

namespace hone {

// The tensors of a checkpoint. Their values are read from the states of the session when they are written or, after
// copy(), from the copy.
struct SavedTensors {
  std::vector<TensorData> weights, moments;  // moments: optimizer states

  bool host_reads(const Session& s) const;  // true: the host can read all these states directly
  // Copies the tensors into `memory`, from which they are then written. The size of `memory` must be the sum of
  // copied_bytes() of all tensors. `memory` must stay valid until the tensors are written.
  Status copy(const Session& s, std::span<std::byte> memory);
};

// The tensors of the task's weights and of the session's states with the names `moments`.
SavedTensors saved_tensors(TrainTask& task, const std::vector<std::string>& moments);

// The content of a checkpoint, except the files of the model.
struct SavedRun {
  SavedTensors tensors;
  Json state;                 // the state to continue from; null: only the model is saved
  std::string trainer_state;  // text of trainer_state.json
};

// Writes the checkpoint <folder>/checkpoint-<step> and returns its path. With one rank, calls `all_read` when all
// tensors have been read. With several ranks, `all_read` is not called, and all ranks must call this function: each
// writes some of the files, no rank sends tensors to another, and rank 0 writes the manifest last. Errors: those of the
// store; if one rank fails, all ranks return an Error.
Result<std::string> write_checkpoint(RunRanks& ranks, const std::string& folder, int64_t step,
                                     TrainTask& task, const SavedRun& saved,
                                     const std::function<void()>& all_read);
// Writes this rank's part of an in-memory checkpoint (host_copies.h) as <folder>/checkpoint-<step>: the states and
// parts of states that not all ranks have, and its share of the states that all ranks have. Tensors have their names in
// the session. Rank 0 also writes the other files that are needed to continue. All ranks call it.
Status write_part_of_run(RunRanks& ranks, const std::string& folder, int64_t step, TrainTask& task,
                         const SavedRun& saved);
// Writes the weights of the final model into the folder. If ranks have different parts of the weights, each rank writes
// some of the files; otherwise rank 0 writes them. All ranks call it.
Status write_model(RunRanks& ranks, const std::string& folder, TrainTask& task);

}  // namespace hone
