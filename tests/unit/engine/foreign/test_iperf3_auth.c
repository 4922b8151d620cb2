/* Who we are to an iperf3 server: what its private key reads. */
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <string.h>

#include "iperf3_auth.h"

static void make_keys(EVP_PKEY **ret_key, char ret_pem[2048])
{
    BIO *bio = BIO_new(BIO_s_mem());
    *ret_key = EVP_RSA_gen(2048);
    cr_assert(*ret_key && PEM_write_bio_PUBKEY(bio, *ret_key) == 1);
    int len = BIO_read(bio, ret_pem, 2047);
    cr_assert_gt(len, 0);
    ret_pem[len] = '\0';
    BIO_free(bio);
}

static void decrypt(EVP_PKEY *key, bool oaep, const char *token, char ret_text[512])
{
    unsigned char cipher[1100];
    size_t len = 511, token_len = strlen(token);
    int cipher_len = EVP_DecodeBlock(cipher, (const unsigned char *)token, (int)token_len);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new(key, NULL);
    while (token_len > 0 && token[--token_len] == '=') /* EVP counts the padding in */
        cipher_len--;
    cr_assert_gt(EVP_PKEY_decrypt_init(context), 0);
    cr_assert_gt(
        EVP_PKEY_CTX_set_rsa_padding(context, oaep ? RSA_PKCS1_OAEP_PADDING : RSA_PKCS1_PADDING),
        0);
    cr_assert_gt(
        EVP_PKEY_decrypt(context, (unsigned char *)ret_text, &len, cipher, (size_t)cipher_len), 0);
    ret_text[len] = '\0';
    EVP_PKEY_CTX_free(context);
}

Test(iperf3_auth, the_servers_key_reads_user_password_and_time_in_both_paddings)
{
    EVP_PKEY *key;
    char pem[2048], token[IPERF3_TOKEN_SIZE], text[512];
    struct tl_error error = {0};
    make_keys(&key, pem);
    struct tl_far_login login = {.user = "mario", .password = "rossi", .public_pem = pem};
    for (int oaep = 0; oaep < 2; oaep++) {
        cr_assert_eq(iperf3_auth_token(&login, oaep, 1700000000, token, &error), TL_OK, "%s",
                     error.text);
        cr_assert(!strchr(token, '\n'));
        decrypt(key, oaep, token, text);
        cr_assert_str_eq(text, "user: mario\npwd:  rossi\nts:   1700000000");
    }
    EVP_PKEY_free(key);
}

Test(iperf3_auth, what_cannot_be_sealed_is_refused)
{
    EVP_PKEY *key;
    char pem[2048], token[IPERF3_TOKEN_SIZE], longer[300];
    struct tl_error error = {0};
    make_keys(&key, pem);
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    struct tl_far_login login = {.user = "mario", .password = longer, .public_pem = pem};
    cr_assert_eq(iperf3_auth_token(&login, true, 0, token, &error), TL_LIMIT);
    login.password = NULL;
    cr_assert_eq(iperf3_auth_token(&login, true, 0, token, &error), TL_USAGE);
    login.password = "rossi";
    login.public_pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    cr_assert_eq(iperf3_auth_token(&login, true, 0, token, &error), TL_SYNTAX);
    cr_assert(strstr(error.text, "no RSA key in PEM"), "%s", error.text);
    EVP_PKEY_free(key);
}
