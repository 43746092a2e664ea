#include "operate/registry/registry_json.h"

namespace hone {

OrderedJson model_json(const RegisteredModel& m) {
  return {{"name", m.name},         {"description", m.description}, {"labels", m.labels},
          {"versions", m.versions}, {"aliases", m.aliases},         {"created", m.created}};
}

OrderedJson version_json(const ModelVersion& v) {
  return {{"name", v.model},
          {"version", v.number},
          {"uri", v.uri()},
          {"hash", v.hash},
          {"source", v.source},
          {"files", v.files},
          {"aliases", v.aliases},
          {"task", v.task},
          {"metrics", v.metrics},
          {"run", v.run_id},
          {"parent", v.parent},
          {"data_hash", v.data_hash},
          {"evaluation", v.evaluation},
          {"labels", v.labels},
          {"created", v.created}};
}

OrderedJson run_json(const RegisteredRun& r) {
  return {{"id", r.id},
          {"name", r.name},
          {"task", r.task},
          {"status", r.status},
          {"started", r.started},
          {"ended", r.ended},
          {"data_hash", r.data_hash},
          {"model_hash", r.model_hash},
          {"metrics", r.metrics},
          {"params", r.params},
          {"record", r.record}};
}

OrderedJson decision_json(const Decision& d) {
  return {{"id", d.id},
          {"name", d.model},
          {"version", d.version},
          {"against", d.against},
          {"verdict", d.verdict},
          {"reason", d.reason},
          {"evidence", d.evidence},
          {"time", d.time}};
}

OrderedJson alias_change_json(const AliasChange& c) {
  return {{"alias", c.alias},
          {"version", c.version},
          {"change", c.change},
          {"reason", c.reason},
          {"time", c.time}};
}

OrderedJson endpoint_json(const Endpoint& e) {
  OrderedJson deployed = OrderedJson::array();
  for (const DeployedModel& d : e.deployed)
    deployed.push_back({{"id", d.id},
                        {"name", d.model},
                        {"version", d.version},
                        {"traffic", d.traffic},
                        {"created", d.created}});
  return {{"id", e.id},           {"display_name", e.display_name},
          {"name", e.model},      {"address", e.address},
          {"deployed", deployed}, {"serving", e.serving},
          {"created", e.created}, {"changed", e.changed}};
}

}  // namespace hone
