// Compares the settings of two starts of a run, to tell whether its results can be the same. Each setting has one or
// several words in its line of a settings.def file (Setting::decides). A word names the part of the results that the
// setting decides:
//
//   nothing     no results: only output, logs, and the places of files
//   bits        all results: a different value always counts as a change; also for a setting that has no word
//   source      which rows are used: files, data sets, number of rows
//   reading     how a row is read from a file; runs on prepared shards do not depend on it
//   rows        how texts become rows of tokens; a run on prepared shards must have the value of the shards
//   tokenizer   the tokenizer; prepared shards have its hash
//   order       the order in which steps take rows
//   length      the number of steps
//   model       the model's config
//   update      the arithmetic of the optimizer
//   machine     kernels, and the number of rows of a micro-batch
//   evaluation  results and times of evaluations; differences matter only if evaluations choose the model that is kept
//   answers     the answers of the trained model; the setting is saved with the model
//               (learn/pretrained/trained_task.h)
//
// A fingerprint (TrainTask::fingerprint) is a JSON object. Its key "settings" has the values of the settings by word.
// Its other keys have the effects of the settings: the hash of the rows, the resolved optimizer, ... A setting with a
// word other than `bits` counts as changed only if the effect of that word has changed. For example, without weight
// decay --optim adam has the same effect as --optim adamw_torch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/settings.h"

namespace hone {

// Whether the setting has this word.
bool decides(const Setting& setting, std::string_view word);

// The value of the fingerprint's key "settings": {word: {name of a setting: value}}.
Json ledger_of(const Schema& schema);

// Names and values of the settings with this word. Settings whose value is null are left out.
Json settings_that_decide(const Schema& schema, std::string_view word);

// The effect of the settings with the word "update", for the fingerprint.
Json update_effect(const TrainSettings& s);
// The effect of the settings with the word "evaluation", for the fingerprint. Null: evaluations do not choose the model
// that is kept.
Json evaluation_effect(const TrainSettings& s);

// A difference between two fingerprints.
struct Difference {
  // The setting that differs or, if no setting explains the difference, the key of the fingerprint.
  std::string name;
  Json then, now;  // the values in the older and in the newer fingerprint
  // The difference as words for messages: "another 'learning_rate'", or "other training rows".
  std::string other() const;
  // The values as text: "0.01 then, 0.02 now"; "" if the values are hashes or objects, which people cannot read.
  std::string values() const;
  // A sentence: "'learning_rate' was 0.01 and is 0.02 now", or "the run had other training rows".
  std::string text() const;
};
// The differences between two fingerprints, in the order of Difference::name. A key or setting that only one of the two
// fingerprints has is not compared, because fingerprints of earlier versions of hone have fewer. `machine` false:
// leaves out settings with the word "machine" and their effects.
std::vector<Difference> differences(const Json& then, const Json& now, bool machine = true);

}  // namespace hone
