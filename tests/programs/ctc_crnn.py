"""CRNN for strips of digits, trained by connectionist temporal classification."""
import string

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset


class Strips(Dataset):
    CHARS = string.digits
    CHAR2LABEL = {char: i + 1 for i, char in enumerate(CHARS)}

    def __init__(self, n, seed):
        rs = np.random.RandomState(seed)
        images, labels = load_digits(return_X_y=True)
        images = images.reshape(-1, 8, 8) / 16
        self.items = []
        for _ in range(n):
            pick = rs.randint(0, len(labels), rs.randint(2, 5))
            strip = np.zeros((8, 40), np.float32)
            for k, j in enumerate(pick):
                strip[:, 9 * k:9 * k + 8] = images[j]
            self.items.append((torch.from_numpy(strip)[None], torch.LongTensor([self.CHAR2LABEL[str(labels[j])] for j in pick])))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        image, target = self.items[index]
        return image, target, torch.LongTensor([len(target)])


def collate_fn(batch):
    images, targets, target_lengths = zip(*batch)
    return torch.stack(images, 0), torch.cat(targets, 0), torch.cat(target_lengths, 0)


class CRNN(nn.Module):
    def __init__(self, num_class=11, hidden=24):
        super().__init__()
        self.cnn = nn.Sequential()
        self.cnn.add_module('conv0', nn.Conv2d(1, 8, 3, 1, 1))
        self.cnn.add_module('relu0', nn.ReLU(inplace=True))
        self.cnn.add_module('pooling0', nn.MaxPool2d(kernel_size=2, stride=2))
        self.cnn.add_module('conv1', nn.Conv2d(8, 16, 3, 1, 1))
        self.cnn.add_module('batchnorm1', nn.BatchNorm2d(16))
        self.cnn.add_module('relu1', nn.ReLU(inplace=True))
        self.cnn.add_module('pooling1', nn.MaxPool2d(kernel_size=(2, 1)))
        self.map_to_seq = nn.Linear(16 * 2, 24)
        self.rnn1 = nn.LSTM(24, hidden, bidirectional=True)
        self.rnn2 = nn.LSTM(2 * hidden, hidden, bidirectional=True)
        self.dense = nn.Linear(2 * hidden, num_class)

    def forward(self, images):
        conv = self.cnn(images)
        batch, channel, height, width = conv.size()
        conv = conv.view(batch, channel * height, width).permute(2, 0, 1)
        seq = self.map_to_seq(conv)
        recurrent, _ = self.rnn1(seq)
        recurrent, _ = self.rnn2(recurrent)
        return self.dense(recurrent)


def ctc_decode(log_probs, blank=0):
    out = []
    for path in log_probs.argmax(2).t().tolist():
        out.append([k for i, k in enumerate(path) if k != blank and (i == 0 or k != path[i - 1])])
    return out


def main():
    torch.manual_seed(21)
    crnn = CRNN()
    criterion = nn.CTCLoss(reduction='sum', zero_infinity=True)
    optimizer = torch.optim.RMSprop(crnn.parameters(), lr=0.0005)
    loader = DataLoader(Strips(96, 0), batch_size=16, shuffle=True, collate_fn=collate_fn)
    for epoch in range(2):
        for images, targets, target_lengths in loader:
            logits = crnn(images)
            log_probs = torch.nn.functional.log_softmax(logits, dim=2)
            batch_size = images.size(0)
            input_lengths = torch.LongTensor([logits.size(0)] * batch_size)
            target_lengths = torch.flatten(target_lengths)
            loss = criterion(log_probs, targets, input_lengths, target_lengths) / batch_size
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(crnn.parameters(), 5)
            optimizer.step()
            print('loss', format(loss.item(), '.6f'))
    print(len(ctc_decode(log_probs)))


if __name__ == '__main__':
    main()
