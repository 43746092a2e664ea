#include "operate/reporters/hparams_records.h"

#include "base/core/protobuf.h"

namespace hone {
namespace {

namespace pb = protobuf;

std::string text_field(int field, const std::string& text) {
  return text.empty() ? "" : pb::bytes(field, text);
}

// DataType: 1 string, 2 bool, 3 float64; 0: not for the dashboard.
int hparam_type(const OrderedJson& value) {
  return value.is_string() ? 1 : value.is_boolean() ? 2 : value.is_number() ? 3 : 0;
}

// google.protobuf.Value: 2 number_value, 3 string_value, 4 bool_value
std::string hparam_value(const OrderedJson& value) {
  if (value.is_string()) return pb::bytes(3, value.get<std::string>());
  if (value.is_boolean()) return pb::number(4, value.get<bool>() ? 1 : 0);
  return pb::real(2, value.get<double>());
}

// DatasetType: 1 training, 2 validation, 0 unknown
int dataset_of(const std::string& metric) {
  return metric.starts_with("train/") ? 1 : metric.starts_with("eval/") ? 2 : 0;
}

}  // namespace

std::string hparams_experiment(const OrderedJson& settings,
                               const std::vector<std::string>& metrics) {
  // Experiment: 4 hparam_infos {1 name, 4 type}, 5 metric_infos {1 name {2 tag}, 5 dataset_type}
  std::string experiment;
  for (const auto& [name, value] : settings.items())
    if (const int type = hparam_type(value))
      experiment += pb::bytes(4, pb::bytes(1, name) + pb::number(4, type));
  for (const std::string& tag : metrics) {
    const int dataset = dataset_of(tag);
    experiment +=
        pb::bytes(5, pb::bytes(1, pb::bytes(2, tag)) + (dataset ? pb::number(5, dataset) : ""));
  }
  return pb::bytes(2, experiment);
}

std::string hparams_start(const OrderedJson& settings, const std::string& folder,
                          const std::string& group, double begun_s) {
  // SessionStartInfo: 1 hparams {1 key, 2 value}, 2 model_uri, 4 group_name, 5 start_time_secs
  std::string start;
  for (const auto& [name, value] : settings.items())
    if (hparam_type(value))
      start += pb::bytes(1, pb::bytes(1, name) + pb::bytes(2, hparam_value(value)));
  return pb::bytes(3, start + text_field(2, folder) + text_field(4, group) + pb::real(5, begun_s));
}

std::string hparams_end(bool success, double ended_s) {
  // SessionEndInfo: 1 status (1 success, 2 failure), 2 end_time_secs
  return pb::bytes(4, pb::number(1, success ? 1 : 2) + pb::real(2, ended_s));
}

}  // namespace hone
