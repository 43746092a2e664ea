// One program for a step gives the bits of a step with gradients kept for an update program.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/backends/backends.h"
#include "engine/backends/tested_backends_test.h"
#include "learn/harness/budget/programs.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/weights.h"
#include "learn/tasks/parity.h"

namespace hone {
namespace {

// Numbers of a data type that every kind of input can hold.
void fill(Session& s, size_t program, const Named& input, const ModelConfig& config, int step) {
  const Type type = s.programs()[program].type(input.value);
  const auto count = static_cast<size_t>(type.count());
  std::mt19937_64 rng(std::hash<std::string>()(input.name) + static_cast<size_t>(step));
  if (input.name.ends_with("cu_seqlens")) {
    const int32_t tokens = static_cast<int32_t>(
        s.input<int32_t>(program, input.name.starts_with("encoder") ? "encoder_ids" : "ids")
            .size());
    auto v = s.input<int32_t>(program, input.name);
    for (size_t i = 0; i < count; ++i) v[i] = i == 0 ? 0 : i == 1 ? tokens / 2 : tokens;
  } else if (input.name == "rng") {
    auto v = s.input<int64_t>(program, input.name);
    v[0] = 42, v[1] = step;
  } else if (input.name == "step") {
    s.input<int64_t>(program, input.name)[0] = step + 1;
  } else if (input.name == "lr") {
    s.input<double>(program, input.name)[0] = 0.01;
  } else if (input.name == "loss_scale") {
    s.input<double>(program, input.name)[0] = 4;
  } else if (input.name == "scale") {
    s.input<float>(program, input.name)[0] = 0.05f;
  } else if (type.dtype == DType::i64) {
    for (auto& v : s.input<int64_t>(program, input.name)) v = 1;
  } else {
    // Positions, types and rows begin at 0 and are few; ids and labels are any.
    const bool few = input.name.ends_with("positions") || input.name == "token_types" ||
                     input.name == "label_rows";
    const int64_t below =
        few ? 2 : std::min(config.vocab, config.labels > 0 ? config.labels : config.vocab);
    for (auto& v : s.input<int32_t>(program, input.name))
      v = static_cast<int32_t>(rng() % static_cast<uint64_t>(below));
  }
}

void run_step(Session& s, const std::string& name, const ModelConfig& config, int step) {
  const size_t program = s.program_index(name);
  for (const Named& input : s.programs()[program].inputs) fill(s, program, input, config, step);
  s.run(program);
}

float loss_of(const Session& s, const std::string& name) {
  return s.output<float>(s.program_index(name), "loss")[0];
}
double norm_of(const Session& s, const std::string& name) {
  return s.output<double>(s.program_index(name), "grad_norm")[0];
}

struct Case {
  std::string task, model, optimizer = "adamw_torch";
  double max_grad_norm = 0.1;
  std::function<void(TaskSettings&)> change = [](TaskSettings&) {};
};

BatchShape shape_of(const TaskModel& m) {
  BatchShape shape;
  for (const RowLimit& limit : m.form.limits) shape.axes.push_back({limit.axis, 32});
  return shape.with(kSequences, 2);
}

Session session_of(const Task& task, const Pretrained& model, bool whole, const Backend& backend,
                   const HostRoom& room = {}, bool copies = true) {
  const ModelConfig& config = model.config;
  const TaskModel m = TaskModel::make(task, model, backend.spec()).value();
  RunShapes shapes;
  shapes.budgets.states = room;
  shapes.train = {{shape_of(m)}, 2};
  shapes.accumulate = !whole;
  shapes.copies = copies;
  Session session = std::move(Session::compile(run_programs(m, shapes).value(), backend).value());
  EXPECT_TRUE(session.allocate(::testing::TempDir()).ok());
  EXPECT_TRUE(init_weights(session, config, 7).ok());
  fill_constants(session, config);
  return session;
}

// A task with settings, and a model without weights, with dropout where it has any.
struct Made {
  Task task;
  Pretrained model;
  std::string shape;
};
Made make(const Case& c) {
  Made made{task_named(c.task), {}, {}};
  TaskSettings* s = made.task.settings.get();
  s->optim = c.optimizer;
  s->max_grad_norm = c.max_grad_norm;
  s->weight_decay = 0.1;
  c.change(*s);
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  made.model = std::move(
      open_pretrained(std::string(HONE_SOURCE_DIR) + "/tests/goldens/" + c.model, o).value());
  for (const char* key : {"resid_pdrop", "embd_pdrop", "attn_pdrop", "attention_dropout",
                          "hidden_dropout_prob", "dropout_rate", "dropout"})
    if (made.model.config.config.contains(key)) made.model.config.config[key] = 0.1;
  EXPECT_TRUE(made.task.choose_head(made.model.config).ok());
  made.shape = shape_of(TaskModel::make(made.task, made.model).value()).text();
  return made;
}

// The states of `one`; two may have copies of weights beside them.
void expect_same_states(const Session& one, const Session& two) {
  for (const StateSlot& slot : one.plan().states)
    EXPECT_EQ(one.state_values<std::byte>(slot.name), two.state_values<std::byte>(slot.name))
        << slot.name;
}

void expect_same_bits(const Case& c) {
  SCOPED_TRACE(c.task + " " + c.model + " " + c.optimizer);
  const Made made = make(c);
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  Session one = session_of(made.task, made.model, true, *backend),
          two = session_of(made.task, made.model, false, *backend);
  for (int step = 0; step < 3; ++step) {
    run_step(one, "step." + made.shape, made.model.config, step);
    run_step(two, "train." + made.shape, made.model.config, step);
    EXPECT_EQ(loss_of(one, "step." + made.shape), loss_of(two, "train." + made.shape)) << step;
    run_step(two, "update", made.model.config, step);
    EXPECT_EQ(norm_of(one, "step." + made.shape), norm_of(two, "update")) << step;
    EXPECT_GT(norm_of(one, "step." + made.shape), 0) << step;
  }
  expect_same_states(one, two);
  EXPECT_LE(one.plan().arena_bytes(), two.plan().arena_bytes());
}

// Runs steps with all on the device, and with values that are computed again or are elsewhere: as one
// program and as two, or as one of them alone if the test is a sample.
void expect_same_bits_in_less_memory(const Case& c, bool sampled_whole) {
  SCOPED_TRACE(c.task + " " + c.model);
  const Made made = make(c);
  const auto backend = open_backend("cpu", {.threads = tests_whole() ? 2 : 1}).value();
  const int steps = tests_whole() ? 20 : 3;
  for (const bool whole : {true, false}) {
    if (whole != sampled_whole && !tests_whole()) continue;
    TaskSettings* s = made.task.settings.get();
    const auto session = [&](const std::function<void(TaskSettings&)>& change) {
      const TaskSettings before = *s;
      s->offload_persistence_threshold = 16;  // the models are tiny
      change(*s);
      Session session = session_of(made.task, made.model, whole, *backend);
      *s = before;
      for (int step = 0; step < steps; ++step) {
        if (whole) {
          run_step(session, "step." + made.shape, made.model.config, step);
          continue;
        }
        run_step(session, "train." + made.shape, made.model.config, step);
        run_step(session, "accumulate." + made.shape, made.model.config, step + 100);
        run_step(session, "update", made.model.config, step);
      }
      EXPECT_TRUE(session.check().ok());
      return session;
    };
    const Session kept = session([](TaskSettings&) {});
    const auto expect_less = [&](const char* what, const std::function<void(TaskSettings&)>& change,
                                 bool activations) {
      SCOPED_TRACE(fmt::format("{}, {}", what, whole ? "one program" : "two"));
      const Session less = session(change);
      expect_same_states(kept, less);
      const auto live = [&](const Session& x) {
        return activations ? x.plan().programs[0].live_bytes : x.plan().used_bytes();
      };
      EXPECT_LT(live(less), live(kept));
    };
    expect_less(
        "checkpointing", [](TaskSettings& t) { t.gradient_checkpointing = true; }, true);
    expect_less(
        "half", [](TaskSettings& t) { t.activation_memory_budget = 0.5; }, true);
    expect_less(
        "none", [](TaskSettings& t) { t.activation_memory_budget = 0; }, true);
    expect_less(
        "params", [](TaskSettings& t) { t.offload_param_device = "cpu"; }, false);
    // Blocks of a disk are larger than these weights.
    expect_same_states(kept, session([](TaskSettings& t) { t.offload_param_device = "nvme"; }));
    expect_less(
        "gradients", [](TaskSettings& t) { t.offload_gradient_device = "cpu"; }, false);
    if (s->bf16 || s->fp16)  // weights are where the moments are, products read copies
      expect_less(
          "optimizer", [](TaskSettings& t) { t.offload_optimizer_device = "nvme"; }, false);
    expect_less(
        "activations", [](TaskSettings& t) { t.offload_activation_device = "cpu"; }, true);
    expect_less(
        "all",
        [](TaskSettings& t) {
          t.gradient_checkpointing = true;
          t.offload_optimizer_device = t.offload_param_device = t.offload_gradient_device =
              t.offload_activation_device = "nvme";
        },
        false);
  }
}

TEST(Step, LessMemoryGivesTheSameBitsInTwoBytes) {
  for (const auto& [sums, fp16, task, model, whole] :
       {std::tuple("auto", false, "clm", "models/gpt2_tiny", true),
        {"bf16", false, "summarization", "models/t5_tiny", false},
        {"fp16", true, "clm", "models/gpt2_tiny", false},
        {"auto", true, "summarization", "models/t5_tiny", true}}) {
    Case c{task, model};
    c.change = [sums = sums, fp16 = fp16](TaskSettings& s) {
      s.bf16 = !fp16, s.fp16 = fp16, s.grad_accum_dtype = sums;
    };
    expect_same_bits_in_less_memory(c, whole);
  }
}

// With the optimizer elsewhere a weight takes two bytes on the device, and its copy is the weight,
// rounded, before the first step and after each.
TEST(Step, ProductsReadCopiesOfWeightsThatAreElsewhere) {
  for (const auto& [fp16, device] :
       {std::pair{false, "cpu"}, {true, "cpu"}, {false, "far"}, {true, "far"}}) {
    SCOPED_TRACE(fmt::format("{} {}", fp16 ? "fp16" : "bf16", device));
    Case c{"clm", "models/gpt2_tiny"};
    c.change = [&](TaskSettings& s) {
      s.bf16 = !fp16, s.fp16 = fp16;
      s.offload_optimizer_device = "cpu";
      s.offload_persistence_threshold = 16;
    };
    const Made made = make(c);
    const auto backend = open_backend(device, {.threads = 2}).value();
    Session session = session_of(made.task, made.model, true, *backend);
    for (int step = 0; step < 3; ++step) {
      run_step(session, "step." + made.shape, made.model.config, step);
      int copies = 0;
      for (const StateSlot& slot : session.plan().states) {
        if (slot.role != Role::copy) continue;
        ++copies;
        EXPECT_EQ(slot.home, Space::device) << slot.name;
        const std::string weight = slot.name.substr(copy_name("").size());
        EXPECT_EQ(session.state_slot(weight).home, Space::host) << weight;
        const std::vector<float> wide = session.state_values<float>(weight);
        const std::vector<uint16_t> got = session.state_values<uint16_t>(slot.name);
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_EQ(got[i], fp16 ? f32_to_f16(wide[i]) : f32_to_bf16(wide[i])) << slot.name;
      }
      EXPECT_EQ(copies, 4 * made.model.config.layers + 1);
    }
    std::map<std::string, int64_t> bytes = session.plan().by_purpose();
    EXPECT_GT(bytes["copies"], 10 * bytes["params"]);
  }
}

// A device with memory of its own keeps weights as halves, whose upper ones products read: the bits are those of whole
// weights.
TEST(Step, WeightsAsHalvesGiveTheSameBits) {
  for (const bool whole : {true, false}) {
    Case c{"clm", "models/gpt2_tiny"};
    c.change = [](TaskSettings& s) { s.bf16 = true; };
    const Made made = make(c);
    const auto gpu = open_backend("cuda_emulated", {.threads = 2}).value();
    Session one = session_of(made.task, made.model, whole, *gpu, {}, false),
            two = session_of(made.task, made.model, whole, *gpu);
    for (Session* s : {&one, &two})
      for (int step = 0; step < 3; ++step) {
        run_step(*s, (whole ? "step." : "train.") + made.shape, made.model.config, step);
        if (!whole) run_step(*s, "update", made.model.config, step);
      }
    expect_same_states(one, two);
    int matrices = 0;
    for (const StateSlot& slot : two.plan().states) {
      EXPECT_NE(slot.role, Role::copy) << slot.name;
      EXPECT_FALSE(one.is_halved(slot.name)) << slot.name;
      matrices += slot.type.rank() == 2 && two.is_halved(slot.name) ? 1 : 0;
    }
    EXPECT_EQ(matrices, 4 * made.model.config.layers);
  }
}

// The host has room for a half of the states, the device for a part of the others: the rest is on
// disk.
TEST(Step, AFullHostGivesTheSameBits) {
  for (const std::string device : {"cpu", "far"})
    for (const bool bf16 : {false, true})
      for (const bool whole : {true, false}) {
        // A sample has each pair of a device, a type and a form once.
        if (((device == "far") != bf16) != whole && !tests_whole()) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", device, bf16 ? "bf16" : "f32", whole));
        Case c{"clm", "models/gpt2_tiny"};
        c.change = [&](TaskSettings& s) {
          s.bf16 = bf16;
          s.offload_optimizer_device = "cpu";
          s.offload_persistence_threshold = 16;
        };
        const Made made = make(c);
        const auto backend = open_backend(device, {.threads = 2}).value();
        Session all = session_of(made.task, made.model, whole, *backend);
        int64_t host = 0;
        for (const StateSlot& slot : all.plan().states)
          if (slot.home == Space::host) host += slot.type.bytes();
        Session some = session_of(made.task, made.model, whole, *backend,
                                  {.host = host / 2, .device = host / 6});
        for (Session* session : {&all, &some})
          for (int step = 0; step < 5; ++step) {
            run_step(*session, (whole ? "step." : "train.") + made.shape, made.model.config, step);
            if (!whole) run_step(*session, "update", made.model.config, step);
          }
        expect_same_states(all, some);
        std::map<Space, int64_t> bytes;
        for (const StateSlot& slot : some.plan().states)
          if (slot.role == Role::moment) bytes[slot.home] += slot.type.bytes();
        EXPECT_GT(bytes[Space::host], 0);
        EXPECT_GT(bytes[Space::device], 0);
        EXPECT_GT(bytes[Space::disk], 0);
      }
}

// With bf16 and fp16 activations and gradients take half the memory; statistics and vectors stay as
// they are, and on a device with memory of its own the residual stream.
TEST(Step, TwoBytesTakeHalfTheMemory) {
  for (const char* type : {"bf16", "fp16"})
    for (const bool whole : {true, false}) {
      std::map<std::string, int64_t> bytes[2];
      for (const bool narrow : {false, true}) {
        Case c{"clm", "models/gpt2_tiny"};
        c.change = [&](TaskSettings& s) {
          (std::string_view(type) == "bf16" ? s.bf16 : s.fp16) = narrow;
          s.grad_accum_dtype = narrow ? type : "auto";
        };
        const Made made = make(c);
        const auto backend = open_backend("cpu", {.threads = 2}).value();
        bytes[narrow] = session_of(made.task, made.model, whole, *backend).plan().by_purpose();
      }
      for (const char* purpose : {"gradients", "activations"}) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", type, purpose, whole ? "one program" : "two"));
        const double share = static_cast<double>(bytes[1][purpose]) /
                             static_cast<double>(std::max<int64_t>(bytes[0][purpose], 1));
        EXPECT_GT(bytes[1][purpose], 0);
        // Vectors, which stay in f32, are a tenth of this model.
        EXPECT_LT(share, 0.6);
        EXPECT_GT(share, 0.4);
      }
    }
}

Case in_pure_bf16(const char* task, const char* model, const char* optimizer = "adamw_torch") {
  Case c{task, model, optimizer};
  c.change = [](TaskSettings& s) { s.dtype = "bfloat16", s.grad_accum_dtype = "bf16"; };
  return c;
}

// Weights, gradients and moments take two bytes an element each, vectors too, and are saved in that
// form.
TEST(Step, PureBf16TakesTwoBytesEach) {
  for (const bool whole : {true, false}) {
    std::map<std::string, int64_t> bytes[2];
    for (const bool pure : {false, true}) {
      const Made made =
          make(pure ? in_pure_bf16("clm", "models/gpt2_tiny") : Case{"clm", "models/gpt2_tiny"});
      const auto backend = open_backend("cpu", {.threads = 2}).value();
      const Session session = session_of(made.task, made.model, whole, *backend);
      const DType kept = pure ? DType::bf16 : DType::f32;
      int64_t elements[2] = {};
      for (const StateSlot& slot : session.plan().states) {
        if (slot.role == Role::constant) continue;
        EXPECT_EQ(slot.type.dtype, kept) << slot.name;
        if (slot.role != Role::grad) elements[slot.role == Role::moment] += slot.type.count();
      }
      EXPECT_EQ(elements[1], 2 * elements[0]);
      bytes[pure] = session.plan().by_purpose();
    }
    for (const char* purpose : {"params", "moments", "gradients"}) {
      EXPECT_GT(bytes[1][purpose], 0) << purpose;
      // Each tensor begins at a line of 64 bytes, and vectors of this model are shorter.
      EXPECT_NEAR(static_cast<double>(bytes[1][purpose]) / static_cast<double>(bytes[0][purpose]),
                  0.5, 0.1)
          << purpose;
    }
  }
}

TEST(Step, LessMemoryGivesTheSameBitsInPureBf16) {
  expect_same_bits_in_less_memory(in_pure_bf16("clm", "models/gpt2_tiny"), true);
  expect_same_bits_in_less_memory(in_pure_bf16("clm", "models/llama_untied_tiny", "adamw_8bit"),
                                  false);
  expect_same_bits_in_less_memory(in_pure_bf16("summarization", "models/t5_tiny"), false);
  expect_same_bits(in_pure_bf16("clm", "models/gpt2_tiny"));
  expect_same_bits(in_pure_bf16("clm", "models/qwen2_tiny", "lion"));
  expect_same_bits(in_pure_bf16("mlm", "mlm/bert_tiny"));
}

TEST(Step, PureBf16HasTheSameBitsForAnyThreads) {
  const Made made = make(in_pure_bf16("clm", "models/gpt2_tiny"));
  std::map<std::string, std::vector<std::byte>> first;
  for (const int threads : {1, 2, 3, 7}) {
    const auto backend = open_backend("cpu", {.threads = threads}).value();
    Session session = session_of(made.task, made.model, true, *backend);
    for (int step = 0; step < 3; ++step)
      run_step(session, "step." + made.shape, made.model.config, step);
    for (const StateSlot& slot : session.plan().states) {
      const std::vector<std::byte> bytes = session.state_values<std::byte>(slot.name);
      if (threads == 1)
        first[slot.name] = bytes;
      else
        EXPECT_EQ(bytes, first[slot.name]) << slot.name << " with " << threads << " threads";
    }
  }
}

// An optimizer without a rule for bf16 is refused, unless it trains an adapter, which is f32.
TEST(Step, OptimizersThatDoNotUpdateBf16AreRefused) {
  for (const char* optimizer : {"lamb", "adafactor"}) {
    const Made made = make(in_pure_bf16("clm", "models/gpt2_tiny", optimizer));
    const TaskModel m = TaskModel::make(made.task, made.model).value();
    RunShapes shapes;
    shapes.train = {{shape_of(m)}, 2};
    const auto programs = run_programs(m, shapes);
    ASSERT_FALSE(programs.ok());
    EXPECT_STREQ(programs.error().code(), "H2409");
    EXPECT_NE(programs.error().remedy().find("adamw_torch"), std::string::npos);
  }
}

Case in_f16(const char* task, const char* model, const char* gradients) {
  Case c{task, model};
  c.change = [=](TaskSettings& s) { s.fp16 = true, s.grad_accum_dtype = gradients; };
  return c;
}

// The type of gradients with --fp16: f16 for a step of one micro-batch, f32 for sums and for T5.
TEST(Step, GradientsInF16GiveTheLossesOfF32) {
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  for (const auto& [task, model, kept] : {std::tuple("clm", "models/gpt2_tiny", DType::f16),
                                          {"clm", "models/llama_tied_tiny", DType::f16},
                                          {"summarization", "models/t5_tiny", DType::f32}}) {
    std::vector<float> losses[2];
    for (const bool narrow : {false, true}) {
      const Made made = make(in_f16(task, model, narrow ? "auto" : "fp32"));
      Session session = session_of(made.task, made.model, true, *backend);
      for (int step = 0; step < 10; ++step) {
        run_step(session, "step." + made.shape, made.model.config, step);
        losses[narrow].push_back(loss_of(session, "step." + made.shape));
      }
      const Session sums = session_of(made.task, made.model, false, *backend);
      for (const StateSlot& slot : sums.plan().states)
        if (slot.role == Role::grad) {
          EXPECT_EQ(slot.type.dtype, DType::f32) << slot.name;
        }
    }
    for (size_t i = 0; i < losses[0].size(); ++i)
      EXPECT_NEAR(losses[1][i] / losses[0][i], 1, kept == DType::f16 ? 1e-3 : 0) << model << i;
    EXPECT_EQ(losses[0] == losses[1], kept == DType::f32) << model;
  }
}

// A gradient that is finite in f32 and too large for f16 makes no update: the loss scale sees it.
TEST(Step, AGradientTooLargeForF16ChangesNothing) {
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  for (const bool whole : {true, false})
    for (const char* gradients : {"fp32", "fp16"}) {
      // Products of T5 are f32, so that nothing but what is kept overflows.
      const Made made = make(in_f16("summarization", "models/t5_tiny", gradients));
      Session session = session_of(made.task, made.model, whole, *backend);
      const std::string name = (whole ? "step." : "train.") + made.shape;
      const size_t program = session.program_index(name);
      for (const Named& input : session.programs()[program].inputs)
        fill(session, program, input, made.model.config, 0);
      session.input<float>(program, "scale")[0] = 1e7f;
      std::map<std::string, std::vector<std::byte>> before;
      for (const StateSlot& slot : session.plan().states)
        if (slot.role == Role::param || slot.role == Role::moment)
          before[slot.name] = session.state_values<std::byte>(slot.name);
      session.run(program);
      if (!whole) run_step(session, "update", made.model.config, 0);
      const bool overflows = std::string_view(gradients) == "fp16";
      EXPECT_TRUE(std::isfinite(loss_of(session, name)));
      EXPECT_EQ(std::isfinite(norm_of(session, whole ? name : "update")), !overflows);
      for (const auto& [state, bytes] : before)
        EXPECT_EQ(session.state_values<std::byte>(state) == bytes, overflows) << state;
    }
}

TEST(Step, LessMemoryGivesTheSameBits) {
  expect_same_bits_in_less_memory({"clm", "models/gpt2_tiny"}, true);
  expect_same_bits_in_less_memory({"summarization", "models/t5_tiny"}, false);
  if (!tests_whole()) return;
  expect_same_bits_in_less_memory({"clm", "models/llama_tied_tiny"}, true);
  expect_same_bits_in_less_memory({"summarization", "models/bart_tiny"}, true);
  expect_same_bits_in_less_memory({"summarization", "models/marian_tiny"}, true);
  expect_same_bits_in_less_memory({"mlm", "mlm/bert_tiny"}, true);
}

TEST(Step, OneProgramHasTheBitsOfTwo) {
  expect_same_bits({"clm", "models/gpt2_tiny"});
  expect_same_bits({"clm", "models/llama_tied_tiny"});
  expect_same_bits({"clm", "models/llama_untied_tiny", "adamw_torch", 0});
  expect_same_bits({"clm", "models/qwen2_tiny"});
  expect_same_bits({"clm", "models/mistral_tiny"});
  expect_same_bits({"summarization", "models/t5_tiny"});
  expect_same_bits({"summarization", "models/bart_tiny"});
  expect_same_bits({"summarization", "models/marian_tiny"});
  expect_same_bits({"mlm", "mlm/bert_tiny"});
  expect_same_bits({"mlm", "mlm/roberta_tiny"});
  Case bf16{"clm", "models/gpt2_tiny"};
  bf16.change = [](TaskSettings& s) { s.bf16 = true, s.grad_accum_dtype = "bf16"; };
  expect_same_bits(bf16);
  bf16.task = "summarization", bf16.model = "models/t5_tiny";
  expect_same_bits(bf16);
  for (const char* optimizer : {"adafactor", "lamb", "lion", "sgd", "adagrad", "rmsprop"})
    expect_same_bits({"clm", "models/gpt2_tiny", optimizer});
}

// A loss that is not finite changes no state, whatever the gradients are. With --fp16, activations
// outside the range of f16 are kept as its largest value, if the family has such activations.
TEST(Step, ActivationsOfAFamilyThatIsNotSafeInF16Saturate) {
  for (const auto& [task, model, saturates] :
       {std::tuple("summarization", "models/t5_tiny", true), {"clm", "models/gpt2_tiny", false}}) {
    const Made made = make({task, model});
    made.task.settings->fp16 = true;
    const TaskModel m = TaskModel::make(made.task, made.model).value();
    RunShapes shapes;
    shapes.train = {{shape_of(m)}, 2};
    int casts = 0;
    const std::vector<Program> programs = run_programs(m, shapes).value();
    for (const Program& p : programs)
      for (const Node& n : p.nodes) {
        if (n.op->name != "cast" || n.attrs.text("dtype") != "f16") continue;
        EXPECT_EQ(n.attrs.flag("saturate"), saturates) << model;
        ++casts;
      }
    EXPECT_GT(casts, 10) << model;
  }
}

TEST(Step, ALossThatIsNotFiniteChangesNothing) {
  const Task task = task_named("clm");
  OpenOptions o;
  o.need_weights = o.need_tokenizer = false;
  const std::string folder = HONE_SOURCE_DIR "/tests/goldens/models/gpt2_tiny";
  const Pretrained model = std::move(open_pretrained(folder, o).value());
  const auto backend = open_backend("cpu", {.threads = 1}).value();
  Session session = session_of(task, model, true, *backend);
  run_step(session, "step.32", model.config, 0);
  std::vector<std::vector<std::byte>> before;
  for (const StateSlot& slot : session.plan().states)
    before.push_back(session.state_values<std::byte>(slot.name));
  const size_t program = session.program_index("step.32");
  for (const Named& input : session.programs()[program].inputs)
    fill(session, program, input, model.config, 1);
  session.input<float>(program, "scale")[0] = INFINITY;
  session.run(program);
  EXPECT_FALSE(std::isfinite(loss_of(session, "step.32")));
  for (size_t i = 0; i < before.size(); ++i) {
    const auto now = session.state_values<std::byte>(session.plan().states[i].name);
    EXPECT_EQ(std::memcmp(now.data(), before[i].data(), before[i].size()), 0)
        << session.plan().states[i].name;
  }
}

}  // namespace
}  // namespace hone
