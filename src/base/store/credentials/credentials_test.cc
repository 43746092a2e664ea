// Credentials against the token and metadata servers of tools/fake_buckets.py, and signatures
// against published examples.
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/core/json.h"
#include "base/store/credentials/aws.h"
#include "base/store/credentials/azure.h"
#include "base/store/credentials/crypto.h"
#include "base/store/credentials/google.h"
#include "base/store/fake_buckets.h"
#include "base/store/scripted_server.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "base/unicode/base64.h"

namespace hone {
namespace {

// The variables of this test only.
class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"GOOGLE_APPLICATION_CREDENTIALS",
                             "CLOUDSDK_AUTH_ACCESS_TOKEN",
                             "GCE_METADATA_HOST",
                             "GOOGLE_CLOUD_PROJECT",
                             "CLOUDSDK_CORE_PROJECT",
                             "AWS_ACCESS_KEY_ID",
                             "AWS_SECRET_ACCESS_KEY",
                             "AWS_SESSION_TOKEN",
                             "AWS_PROFILE",
                             "AWS_REGION",
                             "AWS_DEFAULT_REGION",
                             "AWS_ENDPOINT_URL_S3",
                             "AWS_WEB_IDENTITY_TOKEN_FILE",
                             "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                             "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                             "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                             "AZURE_STORAGE_CONNECTION_STRING",
                             "AZURE_STORAGE_ACCOUNT",
                             "AZURE_STORAGE_KEY",
                             "AZURE_STORAGE_SAS_TOKEN",
                             "AZURE_TENANT_ID",
                             "AZURE_CLIENT_SECRET"})
      ::unsetenv(name);
    ::setenv("CLOUDSDK_CONFIG", folder_.path.c_str(), 1);
    ::setenv("HOME", folder_.path.c_str(), 1);
    ::setenv("NO_GCE_CHECK", "true", 1);
    ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    ::setenv("IDENTITY_ENDPOINT", "http://127.0.0.1:9/none", 1);  // no machine's identity
    ::setenv("no_proxy", "127.0.0.1", 1);
  }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path + "/" + name;
    EXPECT_TRUE(file_store().make_dirs(path.substr(0, path.rfind('/'))).ok());
    EXPECT_TRUE(file_store().write(path, text).ok());
    return path;
  }
  TemporaryFolder folder_;
};

std::string rsa_key() {
  EVP_PKEY* key = EVP_RSA_gen(2048);
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long n = BIO_get_mem_data(out, &data);
  std::string pem(data, static_cast<size_t>(n));
  BIO_free(out);
  EVP_PKEY_free(key);
  return pem;
}

TEST_F(CredentialsTest, GoogleWithoutAny) {
  const auto c = GoogleCredentials::find().value();
  EXPECT_EQ(c->authorization().value(), "");
  EXPECT_EQ(c->source(), "none");
}

TEST_F(CredentialsTest, GoogleFromAFileOfEachType) {
  FakeBuckets fake;
  if (!fake.start({"--auth"})) GTEST_SKIP() << "there is no python3";
  const std::string server = fake.endpoint() + "/token", token = write("token", "subject\n");
  const Json files[] = {{{"type", "service_account"},
                         {"client_email", "a@b"},
                         {"private_key", rsa_key()},
                         {"token_uri", server},
                         {"project_id", "p7"}},
                        {{"type", "authorized_user"},
                         {"client_id", "i"},
                         {"client_secret", "s"},
                         {"refresh_token", "r"},
                         {"token_uri", server}},
                        {{"type", "external_account"},
                         {"audience", "a"},
                         {"subject_token_type", "t"},
                         {"token_url", server},
                         {"credential_source", {{"file", token}}}}};
  for (const Json& file : files) {
    ::setenv("GOOGLE_APPLICATION_CREDENTIALS", write("key.json", file.dump()).c_str(), 1);
    const auto c = GoogleCredentials::find().value();
    const std::string first = c->authorization().value();
    EXPECT_TRUE(first.starts_with("Bearer token-")) << first;
    EXPECT_EQ(c->authorization().value(), first);       // kept
    EXPECT_NE(c->authorization(first).value(), first);  // renewed, because it was refused
  }
  ::setenv("GOOGLE_APPLICATION_CREDENTIALS", write("key.json", files[0].dump()).c_str(), 1);
  ::unsetenv("GOOGLE_CLOUD_PROJECT");
  const auto account = GoogleCredentials::find().value();
  EXPECT_EQ(account->project(), "p7");
  fake.set_clock(-3600);
  EXPECT_TRUE(account->authorization().ok()) << "the claim has the time of the server";
}

TEST_F(CredentialsTest, GoogleFromTheMetadataServer) {
  FakeBuckets fake;
  if (!fake.start({"--auth"})) GTEST_SKIP() << "there is no python3";
  ::unsetenv("NO_GCE_CHECK");
  ::unsetenv("GOOGLE_CLOUD_PROJECT");
  ::setenv("GCE_METADATA_HOST", fake.endpoint().substr(7).c_str(), 1);
  const auto c = GoogleCredentials::find().value();
  EXPECT_TRUE(c->authorization().value().starts_with("Bearer metadata-"));
  EXPECT_EQ(c->project(), "p1");
}

TEST_F(CredentialsTest, WhatCannotBeUsedIsNamedWithoutSecrets) {
  const std::pair<Json, const char*> cases[] = {
      {{{"type", "service_account"}, {"client_email", "a@b"}, {"private_key", "TOPSECRET"}}, "PEM"},
      {{{"type", "service_account"}}, "private_key"},
      {{{"type", "gdch_service_account"}, {"private_key", "TOPSECRET"}}, "gdch_service_account"}};
  for (const auto& [file, word] : cases) {
    ::setenv("GOOGLE_APPLICATION_CREDENTIALS", write("key.json", file.dump()).c_str(), 1);
    auto c = GoogleCredentials::find();
    const Error e = c.ok() ? c.value()->authorization().error() : c.error();
    EXPECT_STREQ(e.code(), "H0119");
    EXPECT_NE(e.text().find(word), std::string::npos) << e.text();
    EXPECT_NE(e.text().find("key.json"), std::string::npos) << e.text();
    EXPECT_EQ(e.text().find("TOPSECRET"), std::string::npos) << e.text();
  }
  ::setenv("GOOGLE_APPLICATION_CREDENTIALS", write("key.json", "TOPSECRET {").c_str(), 1);
  EXPECT_EQ(GoogleCredentials::find().error().text().find("TOPSECRET"), std::string::npos);
  EXPECT_STREQ(AzureCredentials::find("").error().code(), "H0119");
}

// The example "GET Object" of AWS's description of Signature Version 4.
TEST_F(CredentialsTest, AwsSignsAsItsDescriptionDoes) {
  AwsRequest r{.method = "GET",
               .path = "/test.txt",
               .region = "us-east-1",
               .payload = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
               .query = {},
               .headers = {{"host", "examplebucket.s3.amazonaws.com"}, {"range", "bytes=0-9"}}};
  AwsKeys keys;
  keys.id = "AKIAIOSFODNN7EXAMPLE";
  keys.secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  const HttpHeaders h = sign_aws(r, keys, 1369353600);  // 2013-05-24 00:00:00 UTC
  EXPECT_EQ(h.at("authorization"),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(CredentialsTest, AwsFindsItsKeysInOrder) {
  EXPECT_EQ(AwsCredentials().keys().value().id, "");
  write(".aws/credentials",
        "[default]\naws_access_key_id = D\naws_secret_access_key = s\n[other]\n"
        "aws_access_key_id=O\naws_secret_access_key=t\naws_session_token = n\n");
  write(".aws/config",
        "# c\n[default]\nregion = eu-west-1\n[profile other]\nregion=us-west-2\n"
        "s3 =\n  endpoint_url = http://nested\nendpoint_url = http://here\n");
  EXPECT_EQ(AwsCredentials().keys().value().id, "D");
  EXPECT_EQ(AwsCredentials().region(), "eu-west-1");
  ::setenv("AWS_PROFILE", "other", 1);
  EXPECT_EQ(AwsCredentials().keys().value().session, "n");
  EXPECT_EQ(AwsCredentials().region(), "us-west-2");
  EXPECT_EQ(AwsCredentials().endpoint(), "http://here");
  ::setenv("AWS_ACCESS_KEY_ID", "E", 1);
  ::setenv("AWS_SECRET_ACCESS_KEY", "e", 1);
  EXPECT_EQ(AwsCredentials().keys().value().id, "E");
}

// The metadata server of an EC2 machine.
struct Ec2Machine {
  std::string id = {}, end = {};
  int token_status = 200, role_status = 200, asked = 0;
  bool is_silent = false;

  ScriptedServer::Answer answer(const ScriptedServer::Request& r) {
    ++asked;
    if (is_silent) return {.lost = true};
    if (r.target == "/latest/api/token") return {.status = token_status, .body = "token"};
    if (r.header("x-aws-ec2-metadata-token") != "token") return {.status = 401};
    if (r.target.ends_with("/security-credentials/"))
      return {.status = role_status, .body = role_status == 200 ? "role" : ""};
    const Json keys{
        {"AccessKeyId", id}, {"SecretAccessKey", "s"}, {"Token", "t"}, {"Expiration", end}};
    return {.body = keys.dump()};
  }
};

class MachineKeys : public CredentialsTest {
 protected:
  void SetUp() override {
    CredentialsTest::SetUp();
    ::unsetenv("AWS_EC2_METADATA_DISABLED");
    ::setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server_.endpoint().c_str(), 1);
  }
  template <class F>
  auto change(F f) {
    return server_.locked(f);
  }
  // From now on the server gives these keys, which live for an hour.
  void give(const std::string& id) {
    change([&] { machine_ = {.id = id, .end = format_utc(clock_.wall_seconds() + 3600)}; });
  }
  // The key or the code of the Error.
  std::string now(bool renew = false) {
    const Result<AwsKeys> keys = aws_.keys(renew);
    return keys.ok() ? keys->id : keys.error().code();
  }

  FakeClock clock_;
  Ec2Machine machine_;
  ScriptedServer server_{[this](const ScriptedServer::Request& r) { return machine_.answer(r); }};
  AwsCredentials aws_{HttpClient::Options{.clock = &clock_}};
};

TEST_F(MachineKeys, AreUsedUntilTheirEndWhenTheServerFails) {
  give("A");
  EXPECT_EQ(now(), "A");
  clock_.advance(3400);
  change([&] { machine_.token_status = 503; });
  EXPECT_EQ(now(), "A");
  EXPECT_EQ(change([&] { return machine_.asked; }), 3 + 3);  // tried again, then left for later
  give("B");
  clock_.advance(20);
  EXPECT_EQ(now(), "B");

  clock_.advance(3400);
  change([&] { machine_.role_status = 404; });
  EXPECT_EQ(now(), "B");
  EXPECT_EQ(now(true), "H0119");  // a server refused B
  EXPECT_EQ(now(), "B");
  clock_.advance(300);
  EXPECT_EQ(now(), "H0119");
  change([&] { machine_.is_silent = true; });
  EXPECT_EQ(now(), "H0107");
  change([&] { machine_.is_silent = false, machine_.token_status = 403; });
  EXPECT_EQ(now(), "H0119");
  give("C");
  EXPECT_EQ(now(), "C");
}

TEST_F(MachineKeys, AreNotLookedForAgainWhereThereAreNone) {
  change([&] { machine_.token_status = 404; });
  EXPECT_EQ(now(), "");
  give("A");
  clock_.advance(1e6);
  EXPECT_EQ(now(), "");
}

TEST_F(MachineKeys, AServerThatFailsAfterItsTokenIsNotAMachineWithoutRole) {
  change([&] { machine_.role_status = 503; });
  EXPECT_EQ(now(), "H0119");
  give("A");
  EXPECT_EQ(now(), "A");
}

TEST_F(CredentialsTest, AzureFromItsVariables) {
  ::setenv("AZURE_STORAGE_ACCOUNT", "acct", 1);
  ::setenv("AZURE_STORAGE_KEY", encode_base64("key").c_str(), 1);
  auto c = AzureCredentials::find("").value();
  EXPECT_EQ(c->endpoint(), "https://acct.blob.core.windows.net");
  EXPECT_EQ(c->authorization("text").value(),
            "SharedKey acct:" + encode_base64(hmac_sha256("key", "text")));
  ::setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true", 1);
  EXPECT_EQ(AzureCredentials::find("").value()->endpoint(),
            "http://127.0.0.1:10000/devstoreaccount1");
  ::setenv("AZURE_STORAGE_CONNECTION_STRING",
           "AccountName=a;SharedAccessSignature=?sv=1&sig=x;EndpointSuffix=core.chinacloudapi.cn",
           1);
  c = AzureCredentials::find("").value();
  EXPECT_EQ(c->endpoint(), "https://a.blob.core.chinacloudapi.cn");
  EXPECT_EQ(c->sas(), "sv=1&sig=x");
  EXPECT_FALSE(c->signs());
}

TEST_F(CredentialsTest, ATokenIsRenewedBeforeItEnds) {
  FakeClock clock;
  int fetched = 0;
  BearerToken token(
      [&]() -> Result<BearerToken::Token> {
        return BearerToken::Token{fmt::format("t{}", ++fetched), 3600};
      },
      clock);
  EXPECT_EQ(token.get().value(), "t1");
  clock.advance(3300);
  EXPECT_EQ(token.get().value(), "t1");
  clock.advance(100);
  EXPECT_EQ(token.get().value(), "t2");
  EXPECT_EQ(token.get("t1").value(), "t2");  // somebody else renewed it
}

}  // namespace
}  // namespace hone
