// The records of TensorBoard's HPARAMS dashboard, which compares runs by their settings: the
// messages of plugins/hparams/plugin_data.proto and api.proto of TensorBoard.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// The values to compare: every setting that is a number, text or boolean, and these metrics, which
// are tags of scalars.
std::string hparams_experiment(const OrderedJson& settings,
                               const std::vector<std::string>& metrics);
// The start of a run. Runs of one group are one line of the dashboard; `folder` will hold its
// model.
std::string hparams_start(const OrderedJson& settings, const std::string& folder,
                          const std::string& group, double begun_s);
std::string hparams_end(bool success, double ended_s);

}  // namespace hone
