// The ledger of settings that decide the results of a run. A setting says it in its line of a
// settings.def (Setting::decides), by these words:
//
//   nothing     output, logs, the place of things
//   bits        its value is compared; the default for a setting that names none
//   source      which rows are taken: files, data sets, how many
//   reading     how a row is read from a file; prepared rows no longer depend on it
//   rows        how texts become rows of tokens; prepared rows have to agree
//   tokenizer   the tokenizer; prepared rows hold its hash
//   order       the order in which steps take rows
//   length      the number of steps
//   model       the model's config
//   update      the arithmetic of the optimizer
//   machine     kernels, and the rows of a micro-batch
//   evaluation  results and times of evaluations; it matters if they choose the model that stays
//   answers     the answers of the trained model; kept with it (learn/pretrained/trained_task.h)
//
// A fingerprint (TrainTask::fingerprint) holds the values of all settings that decide something,
// and their effects: the hash of the rows, the resolved optimizer, ... A setting that is not `bits`
// counts as changed only if its effect has changed: --optim adam without weight decay is --optim
// adamw_torch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/settings/settings.h"
#include "learn/train/settings.h"

namespace hone {

// Whether the setting's line has this word.
bool decides(const Setting& setting, std::string_view word);

// "settings" of a fingerprint: by word the names and values of the schema's settings.
Json ledger_of(const Schema& schema);

// Names and values of the settings with this word; those without a value are left out.
Json settings_that_decide(const Schema& schema, std::string_view word);

// Effects of the settings with these words.
Json update_effect(const TrainSettings& s);      // "update"
Json evaluation_effect(const TrainSettings& s);  // "evaluation"; null: they choose nothing

// A setting, or, where no setting explains it, the key of the fingerprint.
struct Difference {
  std::string name;
  Json then, now;
  // For messages: "another 'learning_rate'", or "other training rows".
  std::string other() const;
  // "0.01 then, 0.02 now"; "" of a hash or an object, which people cannot read.
  std::string values() const;
  // "'learning_rate' was 0.01 and is 0.02 now", or "the run had other training rows".
  std::string text() const;
};
// In order of names. Values that only one of the two holds are not compared: fingerprints of
// earlier versions hold less. With `machine` false, facts of the machine alone are left out.
std::vector<Difference> differences(const Json& then, const Json& now, bool machine = true);

}  // namespace hone
