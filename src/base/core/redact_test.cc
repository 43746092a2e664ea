#include "base/core/redact.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Redact, TakesUsersAndPasswordsOutOfAddresses) {
  EXPECT_EQ(redact_address("postgresql://hone:pa#s?s'w ord@host:5432/db?sslmode=require"),
            "postgresql://host:5432/db?sslmode=require");
  EXPECT_EQ(redact_address("postgresql://u:a@b@host/db"), "postgresql://host/db");
  EXPECT_EQ(redact_text("from https://me:word@host/x?sig=abc&part=1 to gs://b/c"),
            "from https://host/x?sig=***&part=1 to gs://b/c");
}

TEST(Redact, KnowsFlagsVariablesAndHeaders) {
  EXPECT_EQ(redact_text("env HF_TOKEN=abcdef python x.py --hub_token abc --api-key=k --seed 3"),
            "env HF_TOKEN=*** python x.py --hub_token *** --api-key=*** --seed 3");
  EXPECT_EQ(redact_text("curl -H 'Authorization: Bearer abc' http://h/"),
            "curl -H 'Authorization: Bearer ***' http://h/");
  // A line to paste, whose secret the shell fills in.
  const std::string paste = R"(-H "Authorization: Bearer $HONE_API_KEY")";
  EXPECT_EQ(redact_text(paste), paste);
  EXPECT_EQ(redact_text("Authorization: Bearer $ecret"), "Authorization: Bearer ***");
  EXPECT_EQ(redact_text("Authorization: Bearer $SECRET!"), "Authorization: Bearer ***");
  EXPECT_EQ(redact_text("x=hf_abcdefghijklmnopqrstuvwxyz y:hf_abcdefghijklmnopqrstuvwxyz"),
            "x=*** y:***");
  // Nothing of these is secret.
  for (const char* text : {"pad_token=<pad> eos_token_id=0 max_tokens=5", "a Basic idea of it",
                           "12:30:05 step 3/10 loss=2.5", "tokens: 17", "--", "a=", "=b"})
    EXPECT_EQ(redact_text(text), text);
  EXPECT_FALSE(may_hold_a_secret("step 10/100  loss 2.35  rate 5e-05"));
}

// Quoted values after their names, as JSON and Python write them.
TEST(Redact, KnowsMembersOfJson) {
  for (const auto& [text, redacted] :
       {std::pair{R"({"password": "a b \" c", "n": 1})", R"({"password": "***", "n": 1})"},
        std::pair{R"({"password":"","user":"u"})", R"({"password":"","user":"u"})"},
        std::pair{R"({'hub_token': 'abc'})", R"({'hub_token': '***'})"},
        std::pair{R"("password": "open)", R"("password": "***)"},
        std::pair{R"({"password": 5, "tokens": "x"})", R"({"password": 5, "tokens": "x"})"},
        std::pair{R"({"eos_token": "</s>", "text": "password: x"})",
                  R"({"eos_token": "</s>", "text": "password: x"})"}}) {
    EXPECT_EQ(redact_text(text), redacted);
    EXPECT_TRUE(may_hold_a_secret(text));
  }
}

TEST(Redact, KnowsTheNamesOfCredentials) {
  for (const char* name :
       {"token", "hub_token", "hubToken", "accesstoken", "jwt", "auth", "sessionid", "session-id",
        "passphrase", "AWSAccessKeyId", "X-Amz-Signature", "apikey"})
    EXPECT_TRUE(names_a_secret(name)) << name;
  for (const char* name : {"pad_token", "eostoken", "max_tokens", "key", "code", "author",
                           "session", "stop_token", "return_token_type_ids", "api_key_file"})
    EXPECT_FALSE(names_a_secret(name)) << name;
  EXPECT_EQ(redact_text("https://h/x?key=AIzaSy1&code=2&alt=media&X-Amz-Signature=3"),
            "https://h/x?key=***&code=***&alt=media&X-Amz-Signature=***");
  EXPECT_EQ(redact_text("label=AIzaSyABCDEFGHIJKLMNOP"), "label=***");
  const std::string pasted = R"x(-H "Authorization: Bearer $(head -n 1 'my keys')")x";
  EXPECT_EQ(redact_text(pasted), pasted);
}

TEST(Redact, ManyMembersKeepTheirOrder) {
  OrderedJson value = {{"token", "abc"}, {"z", {{"password", "x"}, {"a", 1}}}, {"b", "y"}};
  EXPECT_EQ(dump_json(redact_secrets(value)),
            R"({"token": "***", "z": {"password": "***", "a": 1}, "b": "y"})");
}

TEST(Redact, KnowsTheWordsOfACommand) {
  const OrderedJson command = {"hone",        "train",       "--hub_token", "abc",
                               "--token=abc", "--report_to", "wandb",       "postgresql://u:p@h/d",
                               "API_KEY=abc"};
  EXPECT_EQ(dump_json(redact_command(command)),
            R"(["hone", "train", "--hub_token", "***", "--token=***", "--report_to", "wandb", )"
            R"("postgresql://h/d", "API_KEY=***"])");
}

}  // namespace
}  // namespace hone
