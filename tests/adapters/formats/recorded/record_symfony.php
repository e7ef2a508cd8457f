<?php
// Lets Symfony's validator refuse the mistakes of `mistakes.json`, and writes its serializer's answers to `symfony.json`.
//
//   apt-get install php-cli php-symfony-validator php-symfony-serializer && php record_symfony.php
require '/usr/share/php/Symfony/Component/Validator/autoload.php';
require '/usr/share/php/Symfony/Component/Serializer/autoload.php';

use Symfony\Component\Serializer\Normalizer\ConstraintViolationListNormalizer;
use Symfony\Component\Validator\Constraints as Assert;
use Symfony\Component\Validator\Validation;

$validator = Validation::createValidator();
$order = new Assert\Collection(['fields' => [
    'name' => [new Assert\Type('string'), new Assert\Length(['min' => 3, 'max' => 20])],
    'quantity' => [new Assert\Type('integer'), new Assert\Range(['min' => 1, 'max' => 200])],
    'status' => new Assert\Optional(new Assert\Choice(['draft', 'open', 'closed'])),
    'address' => new Assert\Collection(['fields' => ['city' => new Assert\Type('string')]]),
]]);
$package = shell_exec("dpkg-query -W -f '\${Version}' php-symfony-validator") ?: '';
$version = explode('+', $package)[0];
$answers = [];
foreach (json_decode(file_get_contents(__DIR__ . '/mistakes.json'), true) as $one) {
    $violations = $validator->validate($one['body'], $order);
    if (count($violations) === 0) {
        continue;
    }
    $answer = (new ConstraintViolationListNormalizer())->normalize($violations);
    $answers[] = ['framework' => 'Symfony, its serializer', 'version' => $version, 'mistake' => $one['name'],
        'status' => 422, 'type' => 'application/problem+json', 'answer' => $answer];
}
$lines = array_map(fn($one) => json_encode($one, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), $answers);
file_put_contents(__DIR__ . '/symfony.json', "[\n" . implode(",\n", $lines) . "\n]\n");
