// Compares the settings of two starts of a run, to tell whether its results can be the same. Each setting has words in
// its line of a settings.def (Setting::decides) that tell which part of the results it decides:
//
//   nothing     no results: only output, logs, and where files are
//   bits        any results: two values count as different results; the default for a setting that has no word
//   source      which rows are used: files, data sets, their number
//   reading     how a row is read from a file; prepared rows no longer depend on it
//   rows        how texts become rows of tokens; prepared rows must have the same value
//   tokenizer   the tokenizer; prepared rows hold its hash
//   order       the order in which steps take rows
//   length      the number of steps
//   model       the model's config
//   update      the arithmetic of the optimizer
//   machine     kernels, and the rows of a micro-batch
//   evaluation  results and times of evaluations; they matter only if evaluations choose the model that is kept
//   answers     the answers of the trained model; saved with the model (learn/pretrained/trained_task.h)
//
// A fingerprint (TrainTask::fingerprint) is a JSON object. Its key "settings" holds the values of these settings by
// word; its other keys hold their effects: the hash of the rows, the resolved optimizer, ... A setting with a word
// other than `bits` counts as changed only if its effect has changed. For example, --optim adam without weight decay
// equals --optim adamw_torch.
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

// The effects of the settings with the words "update" and "evaluation", for the fingerprint.
Json update_effect(const TrainSettings& s);
// null: evaluations do not choose the model that is kept.
Json evaluation_effect(const TrainSettings& s);

// A difference between two fingerprints.
struct Difference {
  // The setting that differs or, if no setting explains the difference, the key of the fingerprint.
  std::string name;
  Json then, now;  // the two values
  // For messages: "another 'learning_rate'", or "other training rows".
  std::string other() const;
  // "0.01 then, 0.02 now"; "" if the values are hashes or objects, which people cannot read.
  std::string values() const;
  // "'learning_rate' was 0.01 and is 0.02 now", or "the run had other training rows".
  std::string text() const;
};
// The differences between two fingerprints, in the order of their names. A value that only one of them has is not
// compared: fingerprints of earlier versions of hone have fewer values. `machine` false: leaves out differences of the
// machine.
std::vector<Difference> differences(const Json& then, const Json& now, bool machine = true);

}  // namespace hone
