#include "operate/pipeline/compile/compile.h"

#include "operate/pipeline/compile/errors.h"
#include "operate/pipeline/read_pipeline.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Pipeline steps_of(const std::string& lines) {
  return read_pipeline("steps:\n" + lines, "steps.yaml",
                       [](const ConfigTree&) { return Result<Pipeline>(Pipeline{}); })
      .value();
}

Pipeline pipeline_of_rows(const std::string& rows) {
  return steps_of("  - {name: first, run: 'wc -l ${inputs.rows}', inputs: {rows: '" + rows +
                  "'}}\n"
                  "  - {name: third, run: 'touch ${out}/c', when: '${steps.first.lines} > 2'}\n");
}

TEST(Compile, WhatAClusterCannotSeeIsRefused) {
  CompileOptions options{.image = "i", .deploy_image = {}, .root = "gs://B/r", .registry = "r"};
  const auto refused = compile_pipeline("argo", pipeline_of_rows("rows.txt"), options);
  EXPECT_EQ(std::string(refused.error().code()), err::kCannotCompile.id);
  const OrderedJson task = compile_pipeline("kfp", pipeline_of_rows("gs://B/rows.txt"), options)
                               .value()
                               .document["root"]["dag"]["tasks"]["third"];
  EXPECT_EQ(task["triggerPolicy"]["condition"], "inputs.parameter_values['first__lines'] > 2");
}

TEST(Compile, DeploymentsNeedABucketAndARegistry) {
  const Pipeline news = steps_of(
      "  - {name: train, run: 'hone train --output_dir ${out}'}\n"
      "  - {name: register, run: 'hone models register --model ${steps.train}'}\n"
      "  - {name: deploy, run: [hone, deploy, --serve_flags, 'prefix=summarize: '], after: "
      "register}\n");
  CompileOptions options{.image = "i", .deploy_image = {}, .root = "runs", .registry = "r"};
  EXPECT_THAT(compile_pipeline("vertex", news, options).error().text(),
              HasSubstr("give a gs:// URL"));
  options = {.image = "i", .deploy_image = {}, .root = "gs://B/r"};
  EXPECT_THAT(compile_pipeline("kfp", news, options).error().text(), HasSubstr("--registry"));
  EXPECT_THAT(compile::serve_flags(*news.find("deploy")), ElementsAre("--prefix", "summarize: "));
}

TEST(Compile, OneProcessTrainsWhereRanksWouldNeedOtherMachines) {
  const CompileOptions options{.image = "i", .deploy_image = {}, .root = "gs://B/r"};
  const auto command = [&](const std::string& run, std::vector<std::string>& notes) {
    const Pipeline p = steps_of("  - {name: train, run: '" + run + "'}\n");
    const CompiledPipeline made = compile_pipeline("argo", p, options).value();
    notes = made.notes;
    return dump_json(made.document["spec"]["templates"][1]["container"]["command"]);
  };
  std::vector<std::string> notes;
  EXPECT_THAT(command("hone launch --hostfile h -- train --output_dir ${out}", notes),
              ::testing::Not(HasSubstr("launch")));
  EXPECT_THAT(notes, ::testing::Contains(HasSubstr("step 'train' starts ranks")));
  EXPECT_THAT(command("hone launch --num_processes 2 -- train --output_dir ${out}", notes),
              HasSubstr("launch"))
      << "ranks of one container";
}

TEST(Compile, StepsKnowTheUrlsOfTheirFolders) {
  const Pipeline steps = steps_of("  - {name: train, run: 'hone train --output_dir ${out}'}\n");
  const CompileOptions options{.image = "i", .deploy_image = {}, .root = "gs://B/r"};
  const auto variable = [](const std::string& name, const std::string& value) {
    return OrderedJson{{"name", name}, {"value", value}};
  };
  const OrderedJson argo = compile_pipeline("argo", steps, options).value().document;
  EXPECT_EQ(argo["spec"]["templates"][1]["container"]["env"],
            OrderedJson::array({variable("HONE_PUBLISHED_FOLDER", "/hone/in"),
                                variable("HONE_PUBLISHED_URL", "gs://B/r/{{workflow.name}}")}));
  const OrderedJson kfp = compile_pipeline("kfp", steps, options).value().document;
  EXPECT_EQ(kfp["deploymentSpec"]["executors"]["exec-train"]["container"]["env"],
            OrderedJson::array({variable("HONE_PUBLISHED_FOLDER", "/gcs/B/r"),
                                variable("HONE_PUBLISHED_URL", "gs://B/r")}));
}

TEST(Compile, EnginesAreTheFilesOfTheRoom) {
  EXPECT_THAT(pipeline_engine_names(), ElementsAre("argo", "kfp", "vertex"));
}

TEST(Compile, MachinesHaveSizes) {
  EXPECT_EQ(compile::machine_size("a2-megagpu-16g").processors, 96);
  EXPECT_EQ(compile::machine_size("n1-standard-32").gigabytes, 120);
  EXPECT_EQ(compile::machine_size("toaster").processors, 0);
}

}  // namespace
}  // namespace hone
