// Makes the records for TensorBoard's HPARAMS dashboard, which compares runs by their settings. A record is a
// serialized message of TensorBoard's plugins/hparams/plugin_data.proto and api.proto.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

// The record that lists the values to compare: every setting that is a number, text or boolean, and the metrics.
// `metrics` are tags of scalars (EventFile::add_scalar).
std::string hparams_experiment(const OrderedJson& settings,
                               const std::vector<std::string>& metrics);
// The record of a run's start at `begun_s`, in seconds since 1970. Runs with the same `group` are one line of the
// dashboard. The run will save its model in `folder`.
std::string hparams_start(const OrderedJson& settings, const std::string& folder,
                          const std::string& group, double begun_s);
// The record of a run's end at `ended_s`, in seconds since 1970.
std::string hparams_end(bool success, double ended_s);

}  // namespace hone
