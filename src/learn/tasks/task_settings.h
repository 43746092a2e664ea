// The settings of one run of a task, and what they say of the run before any data are read: its
// head, its programs, how long its rows are. Each task has a class of these (clm.h, mlm.h); what
// the run itself does is its TokenTask (token_task.h).
#pragma once

#include <functional>
#include <memory>

#include "base/settings/settings.h"
#include "learn/data/batches/batch.h"
#include "learn/generate/programs.h"
#include "learn/pretrained/pretrained.h"
#include "learn/train/settings.h"
#include "learn/train/split.h"

namespace hone {

class ShardedRows;
class TextRows;
class TokenTask;

// Which rows are learnt from.
struct DataSettings {
#define HONE_SETTINGS "learn/tasks/data_settings.def"
#include "base/settings/fields.inc"
};

struct BatchShape {
  int64_t tokens = 0;         // T; of pairs those of the targets
  int64_t slots = 0;          // S
  int64_t source_tokens = 0;  // Te of pairs; 0: rows have one side
  bool all_labels = false;    // room for a label at every token, where the usual program has less
};

// What a run of pairs needs besides its sources.
struct PairNeeds {
  int64_t target_tokens = 0;  // of the longest target; 0: rows have one side
  int64_t beams = 1;          // of the model's generation config
};

class TaskSettings : public TrainSettings, public DataSettings {
 public:
  virtual ~TaskSettings() = default;

  // Everything; what belongs to the data alone (hone prepare); the task's own flags.
  void bind(Schema& schema) { TrainSettings::bind(schema), bind_data(schema); }
  void bind_data(Schema& schema) { DataSettings::bind(schema), bind_own(schema); }
  virtual void bind_own(Schema& schema) = 0;
  // All settings with their values, to be read.
  Schema described() const;
  // After flags and files are read: settings that follow from others.
  virtual Status settle(const Schema&) { return Ok{}; }

  // The head that the task trains, and its labels where the settings know them; asked before the
  // weights of the model are. An Error when the family has no such head.
  virtual Status choose_head(ModelConfig& config) const = 0;

  // A checkpoint's head of another shape gives way to a new one.
  virtual bool replaces_head() const { return false; }

  // Tokens of the longest row, and the flag that decides it: its name, and what was given (0: not).
  virtual int64_t row_tokens(const ModelConfig& config) const = 0;
  virtual std::string row_tokens_flag() const = 0;
  virtual int64_t row_tokens_given() const = 0;
  // For tasks that learn a target from a source: tokens of the longest target (row_tokens is of the
  // sources then). 0: rows have one side.
  virtual int64_t target_tokens(const ModelConfig& config) const {
    (void)config;
    return 0;
  }
  // What generating texts in evaluations needs, for sources of at most this number of tokens and `rows` rows;
  // none: the run writes none.
  virtual std::optional<CacheLimits> generation_limits(const PairNeeds& needs,
                                                       int64_t source_tokens, int64_t rows) const {
    (void)needs, (void)source_tokens, (void)rows;
    return {};
  }

  // Rows of any length, packed; false: blocks of row_tokens each.
  virtual bool rows_apart() const = 0;
  // A step of one micro-batch never needs a second one. Else the largest budget must hold whatever
  // rows and labels a step has, which is chosen where it takes no more memory than gradients that
  // are kept from one micro-batch to the next.
  virtual bool steps_are_even() const { return !rows_apart(); }
  // The program of the usual number of labels may be too small for a micro-batch.
  virtual bool labels_vary() const { return false; }

  // The program of a micro-batch before any pass. Inputs of all: ids, positions i32[T], cu_seqlens
  // i32[S+1]; for training also sample_ids i64[T], rng i64[2] = {seed, step}, scale f32[] = 1 /
  // normaliser of the optimizer step. Output `loss` f32[] in training; what evaluation gives is the
  // task's own affair.
  virtual Program build(const ModelConfig& config, const BatchShape& shape, const std::string& name,
                        bool train) const = 0;

  // Reads the data, chooses the micro-batch, compiles, takes the memory, loads the weights; prints
  // the first screen on the way. The settings must outlive the task.
  virtual Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const = 0;

  // From the checkpoint that the run continues from, whose micro-batches it keeps; none: it begins, or
  // the checkpoint does not say. The command sets both.
  std::optional<Split> split;
  std::string continued_from;

  // Standard output, for tasks whose lines other programs read; the command sets it.
  std::function<void(std::string_view)> print = [](std::string_view) {};

  // Not null if and only if the task trains on plain text.
  virtual const TextRows* text_rows() const { return nullptr; }
  // Not null for the other tasks.
  virtual ShardedRows* sharded_rows() { return nullptr; }
};

}  // namespace hone
